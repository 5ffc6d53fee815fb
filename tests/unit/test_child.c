/*
 * Commands: what they are given, what comes back, and what is said when they cannot start.
 */
#include "child_run.h"

#include <fcntl.h>

/* ---- what comes back ---- */

static void both_streams(void)
{
	struct run r;

	run_shell(&r, "echo one; echo two >&2; echo three; exit 7", 5000);
	CHECK(output_is(&r, "one\nthree\n"));
	CHECK(strcmp(text_of(&r.err), "two\n") == 0);
	CHECK(child_exit_code(&r.c) == 7);
	CHECK(!r.c.timed_out && !r.c.held);
}

static void test_streams_and_exit_code_come_back(void **state)
{
	(void)state;
	apart(both_streams);
}

static void one_stream(void)
{
	const char *argv[] = { "/bin/sh", "-c", "echo a; echo b >&2; echo c", NULL };
	struct run r;

	*(&r) = (struct run){ 0 };
	CHECK(capture_open(&r.out, 1000) == 0);
	r.c = (struct child){
		.path = argv[0], .argv = argv, .cwd = -1, .out = &r.out, .done = run_done
	};
	CHECK(child_start(&r.c) == 0);
	loop_run();
	CHECK(output_is(&r, "a\nb\nc\n"));
}

static void test_without_err_both_streams_stay_in_order(void **state)
{
	(void)state;
	apart(one_stream);
}

static void killed(void)
{
	struct run r;

	run_shell(&r, "kill -9 $$", 30000);
	CHECK(child_exit_code(&r.c) == -9);
	CHECK(!r.c.timed_out);
}

static void test_death_by_signal_is_its_negative_number(void **state)
{
	(void)state;
	apart(killed);
}

static void flood(void)
{
	struct run r;

	run_shell(&r, "head -c 20000000 /dev/zero; echo end", 30000);
	CHECK(r.out.total == 20000004);
	CHECK(r.out.b.len == 64 * KIB);
	CHECK(strcmp(text_of(&r.out) + 64 * KIB - 4, "end\n") == 0);
}

static void test_a_flood_is_read_to_its_end_and_bounded(void **state)
{
	(void)state;
	apart(flood);
}

/* ---- what cannot start ---- */

static int try(const char *path)
{
	const char *argv[] = { path, NULL };
	struct run r;
	int e = run_start(&r, argv, 1000);

	CHECK(r.done == 0);
	capture_close(&r.out);
	capture_close(&r.err);
	return e;
}

static void cannot_start(void)
{
	int before = open_descriptors();

	CHECK(try("/nowhere/at/all") == -ENOENT);
	CHECK(try("/etc/passwd") == -EACCES);
	CHECK(try("/etc") == -EACCES);
	CHECK(try("/etc/passwd/x") == -ENOTDIR);
	CHECK(child_count() == 0);
	CHECK(open_descriptors() == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_what_exec_refuses_is_told_at_once_and_leaves_nothing(void **state)
{
	(void)state;
	apart(cannot_start);
}

static void too_long(void)
{
	static char word[1 * MIB];
	const char *argv[] = { "/bin/sh", "-c", word, NULL };
	struct run r;

	memset(word, 'x', sizeof(word) - 1);
	CHECK(run_start(&r, argv, 1000) == -E2BIG);
}

static void test_an_argument_the_kernel_does_not_take_is_e2big(void **state)
{
	(void)state;
	apart(too_long);
}

/* ---- what it is given ---- */

static void given(void)
{
	struct run r;
	sigset_t set;

	/* left open by whoever started the server */
	CHECK(dup2(open("/etc/passwd", O_RDONLY), 77) == 77);
	setenv("SANDSTORM_JOB", "of another server", 1);
	child_environment(environ);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run_shell(&r,
		"sed -n 's/Sig[BI][lg][kn]:.//p' /proc/self/status;"
		"ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0; cat;"
		"env | grep -c SANDSTORM_JOB; [ ${#SANDSTORM_JOB} = 32 ] && echo tagged;"
		"set -- $(cat /proc/$$/stat); [ $1 = $5 ] && [ $1 = $6 ] && echo leads",
		5000);
	CHECK(output_is(
		&r, "0000000000000000\n0000000000000000\n0 1 2 3 /dev/null\n1\ntagged\nleads\n"));
}

static void test_it_gets_a_clean_mask_streams_tag_and_session(void **state)
{
	(void)state;
	apart(given);
}

static void sealed_one_by_one(void)
{
	struct run r;

	apart_without(SYS_close_range, ENOSYS);
	CHECK(dup2(open("/etc/passwd", O_RDONLY), 77) == 77);
	run_shell(&r, "ls /proc/self/fd | tr '\\n' ' '", 30000);
	CHECK(output_is(&r, "0 1 2 3 "));
}

static void test_inherited_descriptors_are_closed_on_old_kernels_too(void **state)
{
	(void)state;
	apart(sealed_one_by_one);
}

static void limit_back(void)
{
	struct rlimit original, raised;
	struct run r;

	CHECK(getrlimit(RLIMIT_NOFILE, &original) == 0);
	raised = original;
	original.rlim_cur = 123;
	child_descriptors(&original);
	CHECK(setrlimit(RLIMIT_NOFILE, &raised) == 0);
	run_shell(&r, "ulimit -n", 30000);
	CHECK(output_is(&r, "123\n"));
}

static void test_it_gets_the_original_descriptor_limit(void **state)
{
	(void)state;
	apart(limit_back);
}

static void place(void)
{
	const char *argv[] = { "/bin/pwd", NULL };
	struct run r = { .done = 0 };

	CHECK(capture_open(&r.out, 1000) == 0);
	r.c = (struct child){ .path = "/bin/pwd", .argv = argv, .out = &r.out, .done = run_done };
	r.c.cwd = open("/usr/lib", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(child_start(&r.c) == 0);
	loop_run();
	CHECK(output_is(&r, "/usr/lib\n"));
}

static void test_it_starts_where_the_descriptor_points(void **state)
{
	(void)state;
	apart(place);
}

static void variables(void)
{
	const char *argv[] = { "/usr/bin/env", NULL };
	const char *const more[] = { "B=ours", "C", "AA=", "PATH", NULL };
	char *const env[] = { "A=1", "B=2", "BB=3", "C=4", "CC=5", "PATH=/bin", NULL };
	struct run r = { .done = 0 };

	child_environment(env);
	CHECK(strcmp(child_variable("BB"), "3") == 0);
	CHECK(child_variable("AA") == NULL && child_variable("") == NULL);
	CHECK(capture_open(&r.out, 1000) == 0);
	r.c = (struct child){ .path = argv[0], .argv = argv, .cwd = -1, .out = &r.out };
	r.c.done = run_done;
	r.c.env = more;
	CHECK(child_start(&r.c) == 0);
	loop_run();
	CHECK(strcmp(strchr(text_of(&r.out), '\n'), "\nB=ours\nAA=\nA=1\nBB=3\nCC=5\n") == 0);
}

static void test_its_own_variables_win_and_others_are_taken_out(void **state)
{
	(void)state;
	apart(variables);
}

/* Its own standard streams closed: the pipes of the child then get the numbers 0 to 2. */
static void no_streams(void)
{
	struct run r;

	close(0);
	close(1);
	run_shell(&r, "echo out; echo err >&2; cat", 5000);
	CHECK(output_is(&r, "out\n"));
	CHECK(strcmp(text_of(&r.err), "err\n") == 0);
}

static void test_a_server_without_standard_streams_still_gives_them(void **state)
{
	(void)state;
	apart(no_streams);
}

/* ---- finding programs ---- */

static void test_programs_are_found_along_path(void **state)
{
	char *const env[] = { "A=b", "PATH=:relative:/nowhere:/etc:/bin", NULL };
	char *const bare[] = { "A=b", NULL };
	char mem[100], small[4];

	(void)state;
	child_environment(env);
	assert_int_equal(child_find("sh", mem, sizeof(mem)), 0);
	assert_string_equal(mem, "/bin/sh");
	assert_int_equal(child_find("passwd", mem, sizeof(mem)),
		access("/bin/passwd", X_OK) == 0 ? 0 : -EACCES);
	assert_int_equal(child_find("no-such-program", mem, sizeof(mem)), -ENOENT);
	assert_int_equal(child_find("/bin/sh", mem, sizeof(mem)), 0);
	assert_int_equal(child_find("/etc", mem, sizeof(mem)), -EACCES);
	assert_int_equal(child_find("/nowhere/x", mem, sizeof(mem)), -ENOENT);
	assert_int_equal(child_find("sh", small, sizeof(small)), -ENOENT);
	child_environment(bare);
	assert_int_equal(child_find("sh", mem, sizeof(mem)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_and_exit_code_come_back),
		cmocka_unit_test(test_without_err_both_streams_stay_in_order),
		cmocka_unit_test(test_death_by_signal_is_its_negative_number),
		cmocka_unit_test(test_a_flood_is_read_to_its_end_and_bounded),
		cmocka_unit_test(test_what_exec_refuses_is_told_at_once_and_leaves_nothing),
		cmocka_unit_test(test_an_argument_the_kernel_does_not_take_is_e2big),
		cmocka_unit_test(test_it_gets_a_clean_mask_streams_tag_and_session),
		cmocka_unit_test(test_inherited_descriptors_are_closed_on_old_kernels_too),
		cmocka_unit_test(test_it_gets_the_original_descriptor_limit),
		cmocka_unit_test(test_it_starts_where_the_descriptor_points),
		cmocka_unit_test(test_its_own_variables_win_and_others_are_taken_out),
		cmocka_unit_test(test_a_server_without_standard_streams_still_gives_them),
		cmocka_unit_test(test_programs_are_found_along_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
