#include "loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "bounds.h"

enum { EVENTS_MAX = 64 };

/* Slot 0 is never used, so that a zeroed watch is an idle one. */
struct slot {
	struct watch *w;
	uint32_t generation; /* an event for an earlier tenant of the slot is ignored */
	unsigned next;       /* free slots: the one freed before, 0: none */
	bool always;         /* epoll refuses this kind of file: it never blocks */
};

static struct {
	int epoll;
	bool stopped;
	int status;
	int64_t now;
	unsigned turn;
	struct slot slots[WATCHES_MAX + 1];
	unsigned top;    /* the highest slot ever used; the rest of the table is never touched */
	unsigned free;   /* last in, first out, so that few slots stay warm */
	unsigned always; /* how many slots are of that kind and wanted */
	struct timer *timers; /* by due time, equals in the order set */
	struct task *first, **last;
} loop;

int loop_init(void)
{
	loop.last = &loop.first;
	loop.now = clock_ms();
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	return loop.epoll < 0 ? -errno : 0;
}

int64_t loop_now(void)
{
	return loop.now;
}

void loop_stop(int status)
{
	loop.stopped = true;
	loop.status = status;
}

/* --- watches --- */

static uint32_t epoll_events(unsigned want)
{
	return ((want & LOOP_READ) ? EPOLLIN : 0u) | ((want & LOOP_WRITE) ? EPOLLOUT : 0u) |
	       ((want & LOOP_HANGUP) ? EPOLLRDHUP : 0u);
}

static int slot_ctl(struct watch *w, int op)
{
	struct epoll_event e = {
		.events = epoll_events(w->want),
		.data.u64 = (uint64_t)loop.slots[w->slot].generation << 32 | w->slot,
	};

	return epoll_ctl(loop.epoll, op, w->fd, &e) ? -errno : 0;
}

static unsigned slot_take(void)
{
	unsigned i = loop.free;

	if (i)
		loop.free = loop.slots[i].next;
	else if (loop.top < WATCHES_MAX)
		i = ++loop.top;
	return i;
}

static void slot_give(struct watch *w)
{
	loop.slots[w->slot].w = NULL;
	loop.slots[w->slot].next = loop.free;
	loop.free = w->slot;
	w->slot = 0;
}

int watch_add(struct watch *w, int fd, unsigned want)
{
	unsigned i = slot_take();
	int r;

	if (!i)
		return -EMFILE;
	w->fd = fd;
	w->slot = i;
	w->want = 0;
	loop.slots[i].w = w;
	loop.slots[i].generation++;
	loop.slots[i].always = false;
	w->want = want;
	r = slot_ctl(w, EPOLL_CTL_ADD);
	if (r == -EPERM) {
		loop.slots[i].always = true;
		loop.always += want != 0;
		return 0;
	}
	if (r < 0) {
		slot_give(w);
		return r;
	}
	if (!want) /* epoll would report a hang-up all the same */
		epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL);
	return 0;
}

void watch_want(struct watch *w, unsigned want)
{
	unsigned old = w->want;

	if (!w->slot || old == want)
		return;
	w->want = want;
	if (loop.slots[w->slot].always)
		loop.always = loop.always + (want != 0) - (old != 0);
	else
		slot_ctl(w, !old ? EPOLL_CTL_ADD : want ? EPOLL_CTL_MOD : EPOLL_CTL_DEL);
}

void watch_del(struct watch *w)
{
	if (!w->slot)
		return;
	watch_want(w, 0);
	slot_give(w);
}

static void watch_fire(unsigned i, uint32_t generation, unsigned events)
{
	struct watch *w = i <= loop.top ? loop.slots[i].w : NULL;

	if (w && loop.slots[i].generation == generation && (events & w->want))
		w->ready(w, events & w->want);
}

static void event_fire(const struct epoll_event *e)
{
	unsigned events = ((e->events & EPOLLIN) ? LOOP_READ : 0u) |
			  ((e->events & EPOLLOUT) ? LOOP_WRITE : 0u) |
			  ((e->events & EPOLLRDHUP) ? LOOP_HANGUP : 0u);

	if (e->events & (EPOLLERR | EPOLLHUP))
		events = LOOP_READ | LOOP_WRITE | LOOP_HANGUP | LOOP_GONE;
	watch_fire((unsigned)(e->data.u64 & UINT32_MAX), (uint32_t)(e->data.u64 >> 32), events);
}

static void always_fire(void)
{
	for (unsigned i = 1; loop.always && i <= loop.top; i++)
		if (loop.slots[i].w && loop.slots[i].always)
			watch_fire(i, loop.slots[i].generation, LOOP_READ | LOOP_WRITE);
}

/* --- timers --- */

void timer_set(struct timer *t, int64_t ms)
{
	struct timer **at = &loop.timers;

	timer_clear(t);
	t->due = loop.now + ms;
	t->turn = loop.turn;
	t->set = true;
	while (*at && (*at)->due <= t->due)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

void timer_clear(struct timer *t)
{
	struct timer **at = &loop.timers;

	if (!t->set)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->set = false;
}

/* A timer set in this very turn waits for the next one, so that a chain of zero naps lets others in
 * between. */
static void timers_fire(void)
{
	struct timer *t;

	while ((t = loop.timers) && t->due <= loop.now && t->turn != loop.turn) {
		timer_clear(t);
		t->fire(t);
	}
}

static int timers_wait(void)
{
	int64_t ms;

	if (loop.always)
		return 0;
	if (!loop.timers)
		return -1;
	ms = loop.timers->due - loop.now;
	return ms < 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* --- tasks --- */

void loop_defer(struct task *t)
{
	if (t->queued)
		return;
	t->queued = true;
	t->next = NULL;
	*loop.last = t;
	loop.last = &t->next;
}

static void tasks_run(void)
{
	struct task *t;

	while ((t = loop.first)) {
		loop.first = t->next;
		if (!loop.first)
			loop.last = &loop.first;
		t->queued = false;
		t->run(t);
	}
}

int loop_run(void)
{
	struct epoll_event events[EVENTS_MAX];
	int n;

	tasks_run();
	while (!loop.stopped) {
		n = epoll_wait(loop.epoll, events, EVENTS_MAX, timers_wait());
		loop.now = clock_ms();
		loop.turn++;
		for (int i = 0; i < n; i++)
			event_fire(&events[i]);
		always_fire();
		timers_fire();
		tasks_run();
	}
	loop.stopped = false;
	return loop.status;
}

/* --- signals --- */

static struct watch signal_watch;
static void (*signal_ended)(int sig);

static void signal_ready(struct watch *w, unsigned events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) == sizeof(info))
		signal_ended((int)info.ssi_signo);
}

int signals_init(void (*ended)(int sig))
{
	sigset_t set;
	int fd;

	signal_ended = ended;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	signal_watch.ready = signal_ready;
	return watch_add(&signal_watch, fd, LOOP_READ);
}

void signals_restore(void)
{
	/* Zeros are SIG_DFL in the kernel's form, whatever the machine; libc keeps some signals
	 * from us. */
	static const char dfl[64];
	sigset_t none;

	for (int s = 1; s < _NSIG; s++)
		syscall(SYS_rt_sigaction, s, dfl, NULL, _NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
