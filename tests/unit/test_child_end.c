/*
 * The end of commands: by their limit, by us, by themselves, and that nothing of them is left then.
 */
#include "child_run.h"

#include <fcntl.h>
#include <sys/ptrace.h>

static struct timer later; /* what a test does while the command runs */

static void limited(void)
{
	struct run r;

	run_shell(&r, "echo early; sleep 60", 200);
	CHECK(r.c.timed_out);
	CHECK(output_is(&r, "early\n"));
	CHECK(took(&r) >= 200 && took(&r) < 900);
}

static void test_the_limit_ends_it_and_keeps_the_output(void **state)
{
	(void)state;
	apart(limited);
}

static void stubborn(void)
{
	struct run r;

	run_shell(&r, "trap '' TERM; echo $$; while :; do sleep 1; done", 200);
	CHECK(r.c.timed_out);
	CHECK(child_exit_code(&r.c) == -SIGKILL);
	CHECK(took(&r) >= 200 + KILL_GRACE_MS && took(&r) < 200 + KILL_GRACE_MS + 900);
	CHECK(gone_soon(printed_pid(&r)));
}

static void test_what_ignores_term_is_killed_after_the_grace(void **state)
{
	(void)state;
	apart(stubborn);
}

static void escaped(void)
{
	struct run r;

	run_shell(&r, "setsid sleep 60 & echo $!; wait", 200);
	CHECK(r.c.timed_out && !r.c.held);
	CHECK(took(&r) < 900);
	CHECK(gone_soon(printed_pid(&r)));
}

static void test_a_descendant_in_its_own_session_ends_too(void **state)
{
	(void)state;
	apart(escaped);
}

static int count_kin(const char *kin, int want)
{
	int n = child_signal_kin(kin, 0);

	for (int i = 0; i < 100 && n != want; i++) {
		usleep(10000);
		n = child_signal_kin(kin, 0);
	}
	return n;
}

static void related(void)
{
	static const char *const argv[] = { "/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & wait",
		NULL };
	static struct run a, b, other;

	CHECK(child_signal_kin("01234567", SIGKILL) == 0);
	run_kin = "01234567";
	CHECK(run_start(&a, argv, 0) == 0 && run_start(&b, argv, 300) == 0);
	run_kin = "01234568";
	CHECK(run_start(&other, argv, 0) == 0);
	CHECK(count_kin("01234567", 4) == 4);
	loop_run();
	CHECK(b.done == 1 && a.done == 0); /* its time is its own */
	CHECK(count_kin("01234567", 2) == 2);
	CHECK(child_signal_kin("01234567", SIGTERM) == 2);
	CHECK(count_kin("01234567", 0) == 0 && count_kin("01234568", 2) == 2);
}

static void test_commands_of_one_kin_are_found_together(void **state)
{
	(void)state;
	apart(related);
}

static void naked(void)
{
	struct run r;

	run_shell(&r, "env -i setsid sleep 60 & echo $!; wait", 200);
	CHECK(r.c.timed_out && !r.c.held);
	CHECK(took(&r) < 900);
	CHECK(gone_soon(printed_pid(&r)));
}

static void test_a_descendant_without_its_environment_ends_too(void **state)
{
	(void)state;
	apart(naked);
}

static void escaped_stubborn(void)
{
	struct run r;

	run_shell(&r,
		"setsid sh -c \"trap '' TERM; echo \\$\\$; exec >/dev/null 2>&1; while :; do sleep "
		"1; done\" & wait",
		300);
	CHECK(r.c.timed_out);
	CHECK(took(&r) >= 300 + KILL_GRACE_MS && took(&r) < 300 + KILL_GRACE_MS + 900);
	CHECK(gone_soon(printed_pid(&r)));
}

static void test_a_stubborn_descendant_of_a_leader_that_went_is_killed(void **state)
{
	(void)state;
	apart(escaped_stubborn);
}

static void escaped_old_kernel(void)
{
	apart_without(SYS_pidfd_open, ENOSYS);
	escaped();
}

static void escaped_old_container(void)
{
	apart_without(SYS_pidfd_open, EPERM);
	escaped();
}

static void test_it_ends_where_the_kernel_has_no_pidfd(void **state)
{
	(void)state;
	apart(escaped_old_kernel);
	apart(escaped_old_container);
}

static void end_now(struct timer *t)
{
	(void)t;
	child_end(&running->c);
	CHECK(running->done == 0);
}

static void end_twice(struct timer *t)
{
	end_now(t);
	later.fire = end_now;
	timer_set(&later, 500);
}

static void ended(void)
{
	struct run r;

	later.fire = end_twice;
	timer_set(&later, 100);
	run_shell(&r, "trap 'echo term' TERM; while :; do sleep 0.02; done", 0);
	CHECK(!r.c.timed_out);
	CHECK(output_is(&r, "term\n"));
	CHECK(child_exit_code(&r.c) == -SIGKILL);
	CHECK(took(&r) >= 100 + KILL_GRACE_MS && took(&r) < 100 + KILL_GRACE_MS + 450);
}

static void test_ending_it_twice_is_ending_it_once(void **state)
{
	(void)state;
	apart(ended);
}

static void ended_while_draining(void)
{
	struct run r;

	later.fire = end_now;
	timer_set(&later, 60);
	run_shell(&r, "sleep 60 & echo $!", 0);
	CHECK(gone_soon(printed_pid(&r)));
	CHECK(child_exit_code(&r.c) == 0);
}

static void test_ending_it_while_it_drains_ends_what_holds_the_pipe(void **state)
{
	(void)state;
	apart(ended_while_draining);
}

/*
 * A process that is not reaped although it was killed: one that another process traces stays a
 * zombie until that one lets go. Stands for a process stuck in the kernel.
 */
static void be_stuck(void)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}

static pid_t tracer;

static void trace(struct timer *t)
{
	pid_t pid = printed_pid(running);

	(void)t;
	tracer = fork();
	if (tracer == 0) {
		if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(tracer > 0);
}

static void stuck(void)
{
	const char *argv[] = { "/proc/self/exe", "stuck", NULL };
	struct run r;

	later.fire = trace;
	timer_set(&later, 300);
	CHECK(run_start(&r, argv, 600) == 0);
	loop_run();
	CHECK(r.done == 1 && r.c.timed_out && child_count() == 0);
	CHECK(child_exit_code(&r.c) == -SIGKILL);
	CHECK(took(&r) >= 600 + KILL_GRACE_MS + KILL_STUCK_MS &&
		took(&r) < 600 + KILL_GRACE_MS + KILL_STUCK_MS + 900);
	CHECK(waitpid(printed_pid(&r), NULL, WNOHANG) == 0);
	kill(tracer, SIGKILL);
	CHECK(waitpid(tracer, NULL, 0) == tracer);
	CHECK(waitpid(printed_pid(&r), NULL, 0) == printed_pid(&r));
}

static void test_what_even_kill_does_not_end_is_not_waited_for(void **state)
{
	(void)state;
	apart(stuck);
}

/* ---- what stays behind ---- */

static void background(void)
{
	struct run r;
	pid_t pid;

	run_shell(&r, "sleep 60 & echo $!", 5000);
	pid = printed_pid(&r);
	CHECK(r.c.held && !r.c.timed_out);
	CHECK(took(&r) >= DRAIN_IDLE_MS && took(&r) < 900);
	CHECK(alive(pid));
	child_end_all();
	CHECK(gone_soon(pid));
}

static void test_a_background_process_is_left_and_dies_with_the_server(void **state)
{
	(void)state;
	apart(background);
}

static void talker(void)
{
	struct run r;

	run_shell(&r, "while :; do echo x; sleep 0.02; done & echo started", 10000);
	CHECK(r.c.held && !r.c.timed_out);
	CHECK(took(&r) >= DRAIN_CAP_MS - 100 && took(&r) < DRAIN_CAP_MS + 900);
	CHECK(strstr(text_of(&r.out), "started\n") != NULL);
}

static void test_a_process_that_never_falls_silent_is_left_after_the_cap(void **state)
{
	(void)state;
	apart(talker);
}

static void exit_loop(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

static pid_t writer;

static void writer_seen(struct child *c)
{
	CHECK(c->held);
	writer = printed_pid(container_of(c, struct run, c));
	later.fire = exit_loop;
	timer_set(&later, 1200);
}

/* It writes far more than a pipe holds, after the answer. */
static void daemon_goes_on(void)
{
	char path[] = "/tmp/drainXXXXXX", command[256];
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	struct run r = { .done = 0 };
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	snprintf(command, sizeof(command),
		"sh -c 'echo $$; sleep 0.4; head -c 1000000 /dev/zero && echo wrote >%s; sleep 60' "
		"& sleep 0.05",
		path);
	CHECK(capture_open(&r.out, 1000) == 0);
	r.c = (struct child){
		.path = argv[0], .argv = argv, .cwd = -1, .out = &r.out, .done = writer_seen
	};
	CHECK(child_start(&r.c) == 0);
	loop_run();
	CHECK(alive(writer));
	CHECK(read(fd, joined, 6) == 6);
	unlink(path);
}

static void test_what_still_writes_after_the_answer_is_read_and_goes_on(void **state)
{
	(void)state;
	apart(daemon_goes_on);
}

/* ---- many ---- */

enum { ROUNDS = 200 };

static int rounds;

static void next_round(struct child *c)
{
	CHECK(child_exit_code(c) == 0);
	if (++rounds == ROUNDS)
		loop_stop(0);
	else
		CHECK(child_start(c) == 0);
}

static void many(void)
{
	const char *argv[] = { "/bin/true", NULL };
	struct run r = { .done = 0 };
	int before = open_descriptors();

	CHECK(capture_open(&r.out, 1000) == 0);
	r.c = (struct child){
		.path = "/bin/true", .argv = argv, .cwd = -1, .out = &r.out, .done = next_round
	};
	CHECK(child_start(&r.c) == 0);
	loop_run();
	CHECK(rounds == ROUNDS);
	CHECK(open_descriptors() == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_many_commands_leave_no_descriptor_and_no_zombie(void **state)
{
	(void)state;
	apart(many);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_ends_it_and_keeps_the_output),
		cmocka_unit_test(test_what_ignores_term_is_killed_after_the_grace),
		cmocka_unit_test(test_a_descendant_in_its_own_session_ends_too),
		cmocka_unit_test(test_commands_of_one_kin_are_found_together),
		cmocka_unit_test(test_a_descendant_without_its_environment_ends_too),
		cmocka_unit_test(test_a_stubborn_descendant_of_a_leader_that_went_is_killed),
		cmocka_unit_test(test_it_ends_where_the_kernel_has_no_pidfd),
		cmocka_unit_test(test_what_even_kill_does_not_end_is_not_waited_for),
		cmocka_unit_test(test_ending_it_twice_is_ending_it_once),
		cmocka_unit_test(test_ending_it_while_it_drains_ends_what_holds_the_pipe),
		cmocka_unit_test(test_a_background_process_is_left_and_dies_with_the_server),
		cmocka_unit_test(test_a_process_that_never_falls_silent_is_left_after_the_cap),
		cmocka_unit_test(test_what_still_writes_after_the_answer_is_read_and_goes_on),
		cmocka_unit_test(test_many_commands_leave_no_descriptor_and_no_zombie),
	};

	if (argc > 1 && strcmp(argv[1], "stuck") == 0)
		be_stuck();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
