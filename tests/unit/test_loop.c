/*
 * The loop: who is called, when, and in which order.
 */
#include "apart.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "bounds.h"

static char order[64]; /* a letter for each call, in turn */

static void mark(char letter)
{
	size_t n = strlen(order);

	CHECK(n + 1 < sizeof(order));
	order[n] = letter;
}

static bool order_is(const char *want)
{
	bool same = strcmp(order, want) == 0;

	if (!same)
		fprintf(stderr, "got %s, want %s\n", order, want);
	memset(order, 0, sizeof(order));
	return same;
}

/* A watch that notes what it hears. */
struct ear {
	struct watch w;
	int far;      /* the other end */
	int calls;
	unsigned last; /* events of the last call */
};

static void ear_ready(struct watch *w, unsigned events)
{
	struct ear *e = container_of(w, struct ear, w);

	e->calls++;
	e->last = events;
	loop_stop(0);
}

static void ear_open(struct ear *e, unsigned want)
{
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	*e = (struct ear){ .w = { .ready = ear_ready }, .far = ends[1] };
	CHECK(watch_add(&e->w, ends[0], want) == 0);
}

static void stop_fire(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

/* A few turns, with time for whatever should not come. */
static void run_ms(int64_t ms)
{
	struct timer t = { .fire = stop_fire };

	timer_set(&t, ms);
	loop_run();
	timer_clear(&t);
}

/* --- watches --- */

static void only_what_is_wanted_is_heard(void)
{
	struct ear e;

	ear_open(&e, LOOP_READ);
	run_ms(2);
	CHECK(e.calls == 0);
	CHECK(write(e.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_READ);
	watch_want(&e.w, LOOP_WRITE);
	run_ms(1000);
	CHECK(e.calls == 2 && e.last == LOOP_WRITE);
	watch_want(&e.w, LOOP_READ | LOOP_WRITE);
	run_ms(1000);
	CHECK(e.calls == 3 && e.last == (LOOP_READ | LOOP_WRITE));
}

static void who_wants_nothing_hears_nothing_not_even_the_end(void)
{
	struct ear e;

	ear_open(&e, 0);
	close(e.far);
	run_ms(2);
	CHECK(e.calls == 0);
	watch_want(&e.w, LOOP_READ);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_READ);
	watch_want(&e.w, 0);
	run_ms(2);
	CHECK(e.calls == 1);
}

static void a_half_close_is_a_hangup_for_who_wants_to_know(void)
{
	struct ear e, other;

	ear_open(&e, LOOP_HANGUP);
	ear_open(&other, LOOP_WRITE);
	watch_want(&other.w, 0);
	CHECK(write(e.far, "x", 1) == 1);
	run_ms(2);
	CHECK(e.calls == 0);
	shutdown(e.far, SHUT_WR);
	shutdown(other.far, SHUT_WR);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_HANGUP && other.calls == 0);
}

static void an_error_is_told_as_everything_that_is_wanted(void)
{
	struct ear e = { .w = { .ready = ear_ready } };
	int ends[2];

	CHECK(pipe(ends) == 0);
	CHECK(watch_add(&e.w, ends[1], LOOP_WRITE) == 0);
	while (fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && write(ends[1], order, sizeof(order)) > 0)
		;
	run_ms(2);
	CHECK(e.calls == 0);
	close(ends[0]);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_WRITE);
}

static void files_that_epoll_refuses_are_always_ready(void)
{
	struct ear null = { .w = { .ready = ear_ready } }, file = null;
	int fd = open("/dev/null", O_RDWR), plain = open("/proc/self/exe", O_RDONLY);

	CHECK(fd >= 0 && plain >= 0);
	CHECK(watch_add(&null.w, fd, LOOP_READ) == 0);
	CHECK(watch_add(&file.w, plain, 0) == 0);
	run_ms(1000);
	CHECK(null.calls == 1 && null.last == LOOP_READ && file.calls == 0);
	watch_want(&null.w, LOOP_WRITE);
	watch_want(&file.w, LOOP_READ);
	run_ms(1000);
	CHECK(null.calls == 2 && null.last == LOOP_WRITE && file.calls == 1);
	watch_del(&null.w);
	watch_want(&file.w, 0);
	run_ms(2);
	CHECK(null.calls == 2 && file.calls == 1);
}

/* What is always ready must not keep the loop awake when nobody wants it. */
static void a_file_that_is_not_wanted_lets_the_loop_sleep(void)
{
	struct ear null = { .w = { .ready = ear_ready } };
	struct rusage before, after;
	int64_t began = loop_now(), busy;

	CHECK(watch_add(&null.w, open("/dev/null", O_RDWR), LOOP_READ) == 0);
	watch_want(&null.w, 0);
	getrusage(RUSAGE_SELF, &before);
	run_ms(60);
	getrusage(RUSAGE_SELF, &after);
	busy = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000 +
	       (after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1000;
	CHECK(clock_ms() - began >= 60 && busy < 30);
}

static struct ear left, right, heir;

/* Each ends the other and gives its place, and most likely its descriptor, to a newcomer. */
static void usurp(struct watch *w, unsigned events)
{
	struct ear *me = container_of(w, struct ear, w), *other = me == &left ? &right : &left;
	unsigned slot = other->w.slot;

	(void)events;
	me->calls++;
	watch_del(&other->w);
	close(other->w.fd);
	ear_open(&heir, LOOP_READ);
	CHECK(heir.w.slot == slot);
	watch_del(&me->w);
	loop_stop(0);
}

static void an_event_for_an_earlier_tenant_is_ignored(void)
{
	ear_open(&left, LOOP_READ);
	ear_open(&right, LOOP_READ);
	left.w.ready = right.w.ready = usurp;
	CHECK(write(left.far, "x", 1) == 1 && write(right.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(left.calls + right.calls == 1);
	run_ms(2);
	CHECK(left.calls + right.calls == 1 && heir.calls == 0);
	CHECK(write(heir.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(heir.calls == 1);
}

static void a_deleted_watch_hears_nothing_and_may_be_deleted_again(void)
{
	struct ear e;

	ear_open(&e, LOOP_READ);
	CHECK(write(e.far, "x", 1) == 1);
	watch_del(&e.w);
	watch_del(&e.w);
	watch_want(&e.w, LOOP_READ);
	run_ms(2);
	CHECK(e.calls == 0);
}

static void what_cannot_be_watched_is_refused_and_takes_no_place(void)
{
	struct ear e = { .w = { .ready = ear_ready } }, good;

	for (unsigned i = 0; i < WATCHES_MAX + 1; i++)
		CHECK(watch_add(&e.w, 12345, LOOP_READ) == -EBADF);
	CHECK(e.w.slot == 0);
	ear_open(&good, LOOP_READ);
}

static void a_full_table_is_told_and_has_room_after_a_delete(void)
{
	static struct watch many[WATCHES_MAX + 1];
	int fd = open("/dev/null", O_RDWR), n = 0;

	while (watch_add(&many[n], fd, 0) == 0)
		n++;
	CHECK(n > CONNS_MAX && n <= WATCHES_MAX);
	CHECK(watch_add(&many[n], fd, 0) == -EMFILE && many[n].slot == 0);
	watch_del(&many[7]);
	CHECK(watch_add(&many[n], fd, 0) == 0);
}

/* --- timers --- */

struct bell {
	struct timer t;
	char letter;
};

static struct bell bells[4];

static void bell_fire(struct timer *t)
{
	struct bell *b = container_of(t, struct bell, t);

	CHECK(!t->set);
	mark(b->letter);
}

static void bells_make(void)
{
	for (int i = 0; i < 4; i++)
		bells[i] = (struct bell){ { .fire = bell_fire }, (char)('a' + i) };
}

static void timers_fire_by_time_and_equals_as_they_were_set(void)
{
	bells_make();
	timer_set(&bells[0].t, 3);
	timer_set(&bells[1].t, 1);
	timer_set(&bells[2].t, 1);
	timer_set(&bells[3].t, 0);
	run_ms(6);
	CHECK(order_is("dbca"));
}

static void a_timer_can_be_moved_and_cleared(void)
{
	bells_make();
	timer_set(&bells[0].t, 1);
	timer_set(&bells[1].t, 2);
	timer_set(&bells[0].t, 3);
	timer_set(&bells[2].t, 2);
	timer_clear(&bells[2].t);
	timer_clear(&bells[2].t);
	timer_clear(&bells[3].t);
	run_ms(6);
	CHECK(order_is("ba"));
}

static void silence_next(struct timer *t)
{
	bell_fire(t);
	timer_clear(&bells[1].t);
}

static void a_timer_cleared_by_another_of_the_same_time_does_not_fire(void)
{
	bells_make();
	bells[0].t.fire = silence_next;
	timer_set(&bells[0].t, 1);
	timer_set(&bells[1].t, 1);
	timer_set(&bells[2].t, 1);
	run_ms(4);
	CHECK(order_is("ac"));
}

static void no_timer_fires_early(void)
{
	int64_t began = loop_now();

	run_ms(20);
	CHECK(clock_ms() - began >= 20);
}

static void set_again(struct timer *t)
{
	mark('t');
	if (strlen(order) < 6)
		timer_set(t, 0);
	else
		loop_stop(0);
}

static void read_one(struct watch *w, unsigned events)
{
	char c;

	(void)events;
	CHECK(read(w->fd, &c, 1) == 1);
	mark('r');
}

/* A job that naps for nothing after each slice of its work relies on this. */
static void a_chain_of_zero_naps_lets_others_in_between(void)
{
	struct timer nap = { .fire = set_again };
	struct ear e;

	ear_open(&e, LOOP_READ);
	e.w.ready = read_one;
	CHECK(write(e.far, "xxx", 3) == 3);
	timer_set(&nap, 0);
	loop_run();
	CHECK(order_is("rtrtrt"));
}

static void turn_fire(struct timer *t)
{
	int64_t now = loop_now();

	(void)t;
	usleep(3000);
	CHECK(loop_now() == now);
	loop_stop(0);
}

static void time_stands_still_within_a_turn(void)
{
	struct timer t = { .fire = turn_fire };
	int64_t before = loop_now();

	timer_set(&t, 2);
	loop_run();
	CHECK(loop_now() >= before + 2 && loop_now() <= clock_ms());
}

/* --- tasks --- */

struct chore {
	struct task t;
	char letter;
	struct chore *then; /* queued when this one runs */
};

static void chore_run(struct task *t)
{
	struct chore *c = container_of(t, struct chore, t);

	mark(c->letter);
	if (c->then)
		loop_defer(&c->then->t);
	c->then = NULL;
}

static struct chore chores[3];

static void chores_make(void)
{
	for (int i = 0; i < 3; i++)
		chores[i] = (struct chore){ { .run = chore_run }, (char)('a' + i), NULL };
}

static void tasks_run_once_in_the_order_queued_before_the_loop_sleeps(void)
{
	chores_make();
	loop_defer(&chores[1].t);
	loop_defer(&chores[0].t);
	loop_defer(&chores[1].t);
	CHECK(order_is(""));
	run_ms(2);
	CHECK(order_is("ba"));
}

static void a_task_queued_by_a_task_runs_in_the_same_turn_even_itself(void)
{
	chores_make();
	chores[0].then = &chores[1];
	chores[1].then = &chores[1];
	loop_defer(&chores[0].t);
	loop_defer(&chores[2].t);
	loop_stop(0);
	loop_run();
	CHECK(order_is("acbb"));
}

static void defer_ready(struct watch *w, unsigned events)
{
	(void)events;
	mark('e');
	watch_want(w, 0);
	loop_defer(&chores[0].t);
	loop_stop(0);
}

static void a_task_queued_by_an_event_runs_after_it_though_the_loop_is_to_stop(void)
{
	struct ear e;

	chores_make();
	ear_open(&e, LOOP_WRITE);
	e.w.ready = defer_ready;
	loop_run();
	CHECK(order_is("ea"));
}

static void the_loop_can_be_stopped_before_it_runs_and_run_again(void)
{
	loop_stop(3);
	CHECK(loop_run() == 3);
	loop_stop(4);
	CHECK(loop_run() == 4);
	run_ms(1);
}

/* --- signals --- */

static void ended(int sig)
{
	mark(sig == SIGTERM ? 't' : sig == SIGINT ? 'i' : sig == SIGHUP ? 'h' : '?');
	loop_stop(0);
}

static void signals_that_end_arrive_in_the_loop(void)
{
	CHECK(signals_init(ended) == 0);
	raise(SIGTERM);
	CHECK(order_is(""));
	run_ms(1000);
	CHECK(order_is("t"));
	raise(SIGINT);
	run_ms(1000);
	CHECK(order_is("i"));
	raise(SIGHUP);
	run_ms(1000);
	CHECK(order_is("h"));
}

static void a_broken_pipe_is_an_error_not_a_signal(void)
{
	int ends[2];

	CHECK(signals_init(ended) == 0);
	CHECK(pipe(ends) == 0);
	close(ends[0]);
	CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
}

static void a_child_gets_default_signals_and_an_empty_mask(void)
{
	struct sigaction sa;
	sigset_t mask;

	CHECK(signals_init(ended) == 0);
	signals_restore();
	for (int s = 1; s < 32; s++)
		CHECK(sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int s = 1; s < 32; s++)
		CHECK(!sigismember(&mask, s));
}

/* Each in a process of its own, where nothing of the others is left. */
#define APART(name) \
	static void test_##name(void **state) \
	{ \
		(void)state; \
		apart(name); \
	}

APART(only_what_is_wanted_is_heard)
APART(who_wants_nothing_hears_nothing_not_even_the_end)
APART(a_half_close_is_a_hangup_for_who_wants_to_know)
APART(an_error_is_told_as_everything_that_is_wanted)
APART(files_that_epoll_refuses_are_always_ready)
APART(a_file_that_is_not_wanted_lets_the_loop_sleep)
APART(an_event_for_an_earlier_tenant_is_ignored)
APART(a_deleted_watch_hears_nothing_and_may_be_deleted_again)
APART(what_cannot_be_watched_is_refused_and_takes_no_place)
APART(a_full_table_is_told_and_has_room_after_a_delete)
APART(timers_fire_by_time_and_equals_as_they_were_set)
APART(a_timer_can_be_moved_and_cleared)
APART(a_timer_cleared_by_another_of_the_same_time_does_not_fire)
APART(no_timer_fires_early)
APART(a_chain_of_zero_naps_lets_others_in_between)
APART(time_stands_still_within_a_turn)
APART(tasks_run_once_in_the_order_queued_before_the_loop_sleeps)
APART(a_task_queued_by_a_task_runs_in_the_same_turn_even_itself)
APART(a_task_queued_by_an_event_runs_after_it_though_the_loop_is_to_stop)
APART(the_loop_can_be_stopped_before_it_runs_and_run_again)
APART(signals_that_end_arrive_in_the_loop)
APART(a_broken_pipe_is_an_error_not_a_signal)
APART(a_child_gets_default_signals_and_an_empty_mask)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_wanted_is_heard),
		cmocka_unit_test(test_who_wants_nothing_hears_nothing_not_even_the_end),
		cmocka_unit_test(test_a_half_close_is_a_hangup_for_who_wants_to_know),
		cmocka_unit_test(test_an_error_is_told_as_everything_that_is_wanted),
		cmocka_unit_test(test_files_that_epoll_refuses_are_always_ready),
		cmocka_unit_test(test_a_file_that_is_not_wanted_lets_the_loop_sleep),
		cmocka_unit_test(test_an_event_for_an_earlier_tenant_is_ignored),
		cmocka_unit_test(test_a_deleted_watch_hears_nothing_and_may_be_deleted_again),
		cmocka_unit_test(test_what_cannot_be_watched_is_refused_and_takes_no_place),
		cmocka_unit_test(test_a_full_table_is_told_and_has_room_after_a_delete),
		cmocka_unit_test(test_timers_fire_by_time_and_equals_as_they_were_set),
		cmocka_unit_test(test_a_timer_can_be_moved_and_cleared),
		cmocka_unit_test(test_a_timer_cleared_by_another_of_the_same_time_does_not_fire),
		cmocka_unit_test(test_no_timer_fires_early),
		cmocka_unit_test(test_a_chain_of_zero_naps_lets_others_in_between),
		cmocka_unit_test(test_time_stands_still_within_a_turn),
		cmocka_unit_test(test_tasks_run_once_in_the_order_queued_before_the_loop_sleeps),
		cmocka_unit_test(test_a_task_queued_by_a_task_runs_in_the_same_turn_even_itself),
		cmocka_unit_test(test_a_task_queued_by_an_event_runs_after_it_though_the_loop_is_to_stop),
		cmocka_unit_test(test_the_loop_can_be_stopped_before_it_runs_and_run_again),
		cmocka_unit_test(test_signals_that_end_arrive_in_the_loop),
		cmocka_unit_test(test_a_broken_pipe_is_an_error_not_a_signal),
		cmocka_unit_test(test_a_child_gets_default_signals_and_an_empty_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
