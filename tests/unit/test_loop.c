/*
 * The loop: timers, tasks and signals, when and in which order.
 */
#include "ear.h"

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
		cmocka_unit_test(test_timers_fire_by_time_and_equals_as_they_were_set),
		cmocka_unit_test(test_a_timer_can_be_moved_and_cleared),
		cmocka_unit_test(test_a_timer_cleared_by_another_of_the_same_time_does_not_fire),
		cmocka_unit_test(test_no_timer_fires_early),
		cmocka_unit_test(test_a_chain_of_zero_naps_lets_others_in_between),
		cmocka_unit_test(test_time_stands_still_within_a_turn),
		cmocka_unit_test(test_tasks_run_once_in_the_order_queued_before_the_loop_sleeps),
		cmocka_unit_test(test_a_task_queued_by_a_task_runs_in_the_same_turn_even_itself),
		cmocka_unit_test(
			test_a_task_queued_by_an_event_runs_after_it_though_the_loop_is_to_stop),
		cmocka_unit_test(test_the_loop_can_be_stopped_before_it_runs_and_run_again),
		cmocka_unit_test(test_signals_that_end_arrive_in_the_loop),
		cmocka_unit_test(test_a_broken_pipe_is_an_error_not_a_signal),
		cmocka_unit_test(test_a_child_gets_default_signals_and_an_empty_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
