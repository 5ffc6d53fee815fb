#include "loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "bounds.h"
#include "loop/drain.h"
#include "loop/spawn.h"

/*
 * A command is done when its leader is reaped and its pipes are at their end or quiet, and, when it
 * is being ended, when no process with its tag is left. done() is only called from handlers of the
 * loop, as their last act.
 */

enum {
	LOOKS = 2,          /* that must find nobody: one may miss a process just calling exec */
	LOOK_AGAIN_MS = 10, /* much longer than an exec takes */
	EXIT_LOOKS = 20,    /* at the end of the server, which must not take long */
	EXIT_PAUSE_MS = 2,
};

/* The first half of every tag, by which all we started can be found; empty before the first. */
static char server_tag[PROC_TAG_HALF + 1];

static struct child *children;

static void make_tag(struct child *c)
{
	if (server_tag[0] == '\0')
		random_hex(server_tag, PROC_TAG_HALF / 2);
	memcpy(c->tag, server_tag, PROC_TAG_HALF);
	random_hex(c->tag + PROC_TAG_HALF, PROC_TAG_HALF / 2);
	if (c->kin)
		memcpy(c->tag + PROC_TAG_HALF, c->kin, PROC_KIN_LEN);
}

static void forget(struct child *c)
{
	struct child **at = &children;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
}

/* ---- the end ---- */

static void pipe_close(struct watch *w)
{
	int fd = w->fd;

	if (fd < 0)
		return;
	watch_del(w);
	close(fd);
	w->fd = -1;
}

/* Whoever still holds the other end may go on writing. */
static bool pipe_give_up(struct watch *w)
{
	int fd = w->fd;

	if (fd < 0)
		return false;
	watch_del(w);
	w->fd = -1;
	drain_take(fd);
	return true;
}

static void finish(struct child *c)
{
	bool out = pipe_give_up(&c->out_w), err = pipe_give_up(&c->err_w);

	c->held = out || err;
	timer_clear(&c->limit);
	timer_clear(&c->grace);
	timer_clear(&c->drain);
	forget(c);
	c->status = c->proc.status;
	c->over = true;
	c->done(c);
}

/* Is somebody left of a command that is being ended? Before the KILL they have their grace. */
static bool some_left(struct child *c)
{
	if (proc_signal_tagged(c->tag, c->killed ? SIGKILL : 0, 0) > 0)
		c->found_none = 0;
	else
		c->found_none++;
	return c->found_none < LOOKS;
}

/* The leader is gone and nothing more is expected from the pipes. */
static void settle(struct child *c)
{
	if (c->ending && some_left(c))
		timer_set(&c->drain, c->found_none > 0 ? LOOK_AGAIN_MS : DRAIN_IDLE_MS);
	else
		finish(c);
}

static bool pipes_ended(const struct child *c)
{
	return c->out_w.fd < 0 && c->err_w.fd < 0;
}

static void drain_over(struct timer *t)
{
	settle(container_of(t, struct child, drain));
}

static void drain_start(struct child *c)
{
	c->drain_end = loop_now() + DRAIN_CAP_MS;
	timer_set(&c->drain, DRAIN_IDLE_MS);
}

static void leader_ended(struct proc *p)
{
	struct child *c = container_of(p, struct child, proc);

	timer_clear(&c->limit);
	c->status = p->status;
	if (c->exited)
		c->exited(c);
	if (pipes_ended(c))
		settle(c);
	else if (!c->exited || c->ending)
		drain_start(c);
}

/* ---- output ---- */

/* Silence counts anew from each output, up to the cap. */
static void still_talking(struct child *c)
{
	int64_t left = c->drain_end - loop_now();

	if (c->drain.set && left > 0)
		timer_set(&c->drain, left < DRAIN_IDLE_MS ? left : DRAIN_IDLE_MS);
}

static void take(struct child *c, struct capture *to, struct slice bytes)
{
	if (c->got)
		c->got(c, bytes);
	else
		capture_put(to, bytes);
}

static void stream_ready(struct child *c, struct watch *w, struct capture *to)
{
	ssize_t n = read(w->fd, drain_buffer(), READ_CHUNK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		take(c, to, (struct slice){ drain_buffer(), (size_t)n });
		still_talking(c);
		return;
	}
	pipe_close(w);
	if (!c->proc.running && pipes_ended(c))
		settle(c);
}

static void out_ready(struct watch *w, unsigned events)
{
	struct child *c = container_of(w, struct child, out_w);

	(void)events;
	stream_ready(c, w, c->out);
}

static void err_ready(struct watch *w, unsigned events)
{
	struct child *c = container_of(w, struct child, err_w);

	(void)events;
	stream_ready(c, w, c->err);
}

/* ---- ending it ---- */

/* The group's number is ours only while its leader is not reaped (decision 43). */
static void signal_all(struct child *c, int sig)
{
	if (c->proc.running)
		kill(-c->proc.pid, sig);
	proc_signal_tagged(c->tag, sig, c->proc.running ? c->proc.pid : 0);
}

static void stuck(struct timer *t)
{
	struct child *c = container_of(t, struct child, grace);

	if (c->proc.running) {
		proc_forget(&c->proc);
		c->proc.running = false;
		c->proc.status = SIGKILL;
	}
	finish(c);
}

static void grace_over(struct timer *t)
{
	struct child *c = container_of(t, struct child, grace);

	c->killed = true;
	signal_all(c, SIGKILL);
	c->grace.fire = stuck;
	timer_set(&c->grace, KILL_STUCK_MS);
}

bool child_left_any(const struct child *c)
{
	return c->over && proc_signal_tagged(c->tag, 0, 0) > 0;
}

static void enlist(struct child *c)
{
	c->next = children;
	children = c;
	c->over = c->ending = c->killed = false;
	c->found_none = 0;
}

/* Without its leader nothing but the drain timer would look who is left. */
void child_end(struct child *c)
{
	if (c->over)
		enlist(c);
	if (c->ending)
		return;
	c->ending = true;
	signal_all(c, SIGTERM);
	c->grace.fire = grace_over;
	timer_set(&c->grace, KILL_GRACE_MS);
	if (!c->proc.running)
		drain_start(c);
}

static void limit_over(struct timer *t)
{
	struct child *c = container_of(t, struct child, limit);

	c->timed_out = true;
	child_end(c);
}

int child_signal_kin(const char *kin, int sig)
{
	char tag[PROC_TAG_HALF + PROC_KIN_LEN + 1] = "";

	if (server_tag[0] == '\0')
		return 0;
	memcpy(tag, server_tag, PROC_TAG_HALF);
	memcpy(tag + PROC_TAG_HALF, kin, PROC_KIN_LEN);
	return proc_signal_tagged(tag, sig, 0);
}

/* Nothing else is served now, so this may block: some ms, if a command was ever started. */
void child_end_all(void)
{
	const struct timespec pause = { 0, EXIT_PAUSE_MS * 1000000L };
	int found_none = 0;

	for (struct child *c = children; c; c = c->next)
		if (c->proc.running)
			kill(-c->proc.pid, SIGKILL);
	if (server_tag[0] == '\0')
		return;
	for (int i = 0; i < EXIT_LOOKS; i++) {
		found_none = proc_signal_tagged(server_tag, SIGKILL, 0) > 0 ? 0 : found_none + 1;
		if (found_none == LOOKS)
			return;
		nanosleep(&pause, NULL);
	}
}

int child_count(void)
{
	int n = 0;

	for (const struct child *c = children; c; c = c->next)
		n++;
	return n;
}

int child_exit_code(const struct child *c)
{
	return WIFSIGNALED(c->status) ? -WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

/* ---- the beginning ---- */

static void prepare(struct child *c)
{
	make_tag(c);
	c->out_w = (struct watch){ .fd = -1, .ready = out_ready };
	c->err_w = (struct watch){ .fd = -1, .ready = err_ready };
	c->limit = (struct timer){ .fire = limit_over };
	c->grace = (struct timer){ 0 };
	c->drain = (struct timer){ .fire = drain_over };
	c->status = 0;
	c->timed_out = c->held = false;
}

/* Watches the reading end; gives the writing end or -errno. */
static int pipe_open(struct watch *w)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : watch_add(w, ends[0], LOOP_READ);
	if (r == 0)
		return ends[1];
	close(ends[0]);
	close(ends[1]);
	w->fd = -1;
	return r;
}

static void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The pid or -errno; our ends of the pipes are then in the watches, the child's ends closed. */
static int start_with_pipes(struct child *c)
{
	struct spawn s = { c->path, c->argv, environ_for(c->tag, c->env), c->cwd, -1, -1, -1,
		proc_mark(c->tag) };
	int r, err = -1;

	s.in = spawn_no_input();
	s.out = pipe_open(&c->out_w);
	if (c->err)
		err = pipe_open(&c->err_w);
	s.err = c->err ? err : s.out;
	if (s.in < 0 || s.out < 0 || s.err < 0)
		r = s.in < 0 ? s.in : s.out < 0 ? s.out : s.err;
	else
		r = spawn_start(&s);
	fd_close(s.in);
	fd_close(s.out);
	fd_close(err);
	return r;
}

int child_start(struct child *c)
{
	int pid;

	prepare(c);
	pid = start_with_pipes(c);
	if (pid < 0) {
		pipe_close(&c->out_w);
		pipe_close(&c->err_w);
		return pid;
	}
	proc_add(&c->proc, pid, leader_ended);
	enlist(c);
	if (c->limit_ms > 0)
		timer_set(&c->limit, c->limit_ms);
	return 0;
}
