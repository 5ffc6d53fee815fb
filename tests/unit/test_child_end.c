/*
 * The end of commands: by their limit, by us, by themselves, and that nothing of them is left then.
 */
#include "child_run.h"
#include "fly.h"
#include "top_dir.h"

#include <fcntl.h>
#include <sys/ptrace.h>

enum { LIMIT_MS = 40 * 1000 };

/* Starts a command, and gives the number that it prints. */
static pid_t begin(struct run *r, const char *command)
{
	const char *argv[] = { "/bin/sh", "-c", command, NULL };

	CHECK(run_start(r, argv, LIMIT_MS) == 0);
	AWAIT(strchr(text_of(&r->out), '\n'));
	CHECK(!r->done && !r->c.timed_out);
	return printed_pid(r);
}

/* Lets the time pass that it was given, and waits for its end. */
static void pass_limit(struct run *r)
{
	time_fly();
	while (!r->c.timed_out)
		run_ms(1000);
	time_walk();
	AWAIT(r->done);
	CHECK(r->done == 1 && r->c.timed_out && child_count() == 0);
}

static void limited(void)
{
	struct run r;

	begin(&r, "echo $$; sleep 60");
	pass_limit(&r);
	CHECK(child_exit_code(&r.c) == -SIGTERM && !r.c.killed);
	CHECK(took(&r) >= LIMIT_MS && took(&r) < 60000);
}

static void test_the_limit_ends_it_and_keeps_the_output(void **state)
{
	(void)state;
	apart(limited);
}

static void stubborn(void)
{
	struct run r;

	begin(&r, "trap '' TERM; echo $$; while :; do sleep 1; done");
	pass_limit(&r);
	CHECK(child_exit_code(&r.c) == -SIGKILL && r.c.killed);
	CHECK(took(&r) >= LIMIT_MS + KILL_GRACE_MS && took(&r) < 60000);
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
	pid_t pid = begin(&r, "setsid sleep 60 & echo $!; wait");

	AWAIT(getsid(pid) == pid);
	pass_limit(&r);
	CHECK(!r.c.killed && !r.c.held);
	CHECK(gone_soon(pid));
}

static void test_a_descendant_in_its_own_session_ends_too(void **state)
{
	(void)state;
	apart(escaped);
}

static int count_kin(const char *kin, int want)
{
	int n = child_signal_kin(kin, 0);

	for (int i = 0; i < 2000 && n != want; i++) {
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

/* Has it another program than the shell that started it, and no variable? */
static bool is_naked(pid_t pid)
{
	char path[64], c;
	FILE *f;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "r");
	yes = f && getsid(pid) == pid && fread(&c, 1, 1, f) == 0;
	if (f)
		fclose(f);
	return yes;
}

static void naked(void)
{
	struct run r;
	pid_t pid = begin(&r, "env -i setsid sleep 60 & echo $!; wait");

	AWAIT(is_naked(pid));
	pass_limit(&r);
	CHECK(!r.c.killed && !r.c.held);
	CHECK(gone_soon(pid));
}

static void test_a_descendant_without_its_environment_ends_too(void **state)
{
	(void)state;
	apart(naked);
}

static void escaped_stubborn(void)
{
	struct run r;
	pid_t pid = begin(&r, "setsid sh -c \"trap '' TERM; echo \\$\\$; exec >/dev/null 2>&1; "
			      "while :; do sleep 1; done\" & wait");

	pass_limit(&r);
	CHECK(child_exit_code(&r.c) == -SIGTERM && r.c.killed);
	CHECK(took(&r) >= LIMIT_MS + KILL_GRACE_MS && took(&r) < 60000);
	CHECK(gone_soon(pid));
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

static void ended(void)
{
	struct run r;
	int64_t first, second;

	begin(&r, "trap 'echo term' TERM; echo $$; while :; do sleep 0.02; done");
	run_ms(0);
	first = loop_now();
	child_end(&r.c);
	AWAIT(strstr(text_of(&r.out), "\nterm\n"));
	time_fly();
	run_ms(KILL_GRACE_MS / 2);
	second = loop_now();
	child_end(&r.c);
	while (!r.c.killed)
		run_ms(10);
	CHECK(loop_now() >= first + KILL_GRACE_MS && loop_now() < second + KILL_GRACE_MS);
	time_walk();
	AWAIT(r.done);
	CHECK(!r.c.timed_out && child_exit_code(&r.c) == -SIGKILL);
	CHECK(strstr(strstr(text_of(&r.out), "term"), "\nterm") == NULL);
}

static void test_ending_it_twice_is_ending_it_once(void **state)
{
	(void)state;
	apart(ended);
}

static void ended_while_draining(void)
{
	const char *argv[] = { "/bin/sh", "-c", "sleep 60 & echo $!", NULL };
	struct run r;

	time_fly(); /* it drains for no longer than this test wants it to */
	CHECK(run_start(&r, argv, 0) == 0);
	while (r.c.proc.running)
		run_ms(1);
	CHECK(!r.done);
	child_end(&r.c);
	CHECK(!r.done);
	time_walk();
	AWAIT(r.done);
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

static pid_t trace(pid_t pid)
{
	int gate[2];
	pid_t tracer;
	char c = 'x';

	CHECK(pipe2(gate, O_CLOEXEC) == 0);
	tracer = fork();
	if (tracer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0 || write(gate[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(gate[1]);
	CHECK(tracer > 0 && read(gate[0], &c, 1) == 1);
	close(gate[0]);
	return tracer;
}

static void stuck(void)
{
	const char *argv[] = { "/proc/self/exe", "stuck", NULL };
	struct run r;
	pid_t pid, tracer;

	CHECK(run_start(&r, argv, LIMIT_MS) == 0);
	AWAIT(strchr(text_of(&r.out), '\n'));
	pid = printed_pid(&r);
	tracer = trace(pid);
	time_fly();
	loop_run();
	CHECK(r.done == 1 && r.c.timed_out && child_count() == 0);
	CHECK(child_exit_code(&r.c) == -SIGKILL);
	CHECK(took(&r) == LIMIT_MS + KILL_GRACE_MS + KILL_STUCK_MS);
	CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	kill(tracer, SIGKILL);
	CHECK(waitpid(tracer, NULL, 0) == tracer);
	CHECK(waitpid(pid, NULL, 0) == pid);
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

	time_fly(); /* it stands still until something drains */
	run_shell(&r, "sleep 60 & echo $!", 0);
	pid = printed_pid(&r);
	CHECK(r.c.held);
	CHECK(took(&r) == DRAIN_IDLE_MS);
	CHECK(alive(pid));
	child_end_all();
	CHECK(gone_soon(pid));
}

static void test_a_background_process_is_left_and_dies_with_the_server(void **state)
{
	(void)state;
	apart(background);
}

/*
 * A program that ends and leaves another behind, which says something each two milliseconds. Where
 * the machine does not let it, it makes that file.
 */
static int be_talkative(const char *fell_silent)
{
	int64_t before = clock_ms(), now;

	if (fork() != 0)
		return write(1, "started\n", 8) != 8;
	for (; write(1, "x", 1) == 1; before = now) {
		usleep(2000);
		now = clock_ms();
		if (now - before >= DRAIN_IDLE_MS / 2)
			close(open(fell_silent, O_WRONLY | O_CREAT, 0600));
	}
	return 1;
}

static void talker(void)
{
	const char *fell_silent = in_top("silent");
	const char *argv[] = { "/proc/self/exe", "talk", fell_silent, NULL };
	struct run r;

	for (;;) {
		CHECK(run_start(&r, argv, LIMIT_MS) == 0);
		loop_run();
		CHECK(r.done == 1 && r.c.held && !r.c.timed_out);
		CHECK(strstr(text_of(&r.out), "started\n") != NULL);
		if (took(&r) >= DRAIN_CAP_MS)
			return;
		AWAIT(access(fell_silent, F_OK) == 0);
		CHECK(unlink(fell_silent) == 0);
	}
}

static void test_a_process_that_never_falls_silent_is_left_after_the_cap(void **state)
{
	assert_int_equal(top_make(state), 0);
	apart(talker);
	assert_int_equal(top_remove(state), 0);
}

static pid_t writer;

static void writer_seen(struct child *c)
{
	CHECK(c->held);
	writer = printed_pid(container_of(c, struct run, c));
	loop_stop(0);
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
	AWAIT(pread(fd, joined, 6, 0) == 6);
	CHECK(alive(writer));
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
	if (argc > 1 && strcmp(argv[1], "talk") == 0)
		return be_talkative(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
