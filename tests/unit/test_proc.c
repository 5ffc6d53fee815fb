/*
 * Reaping, and finding processes by the tag in their environment.
 */
#include "apart.h"

#include <fcntl.h>

static const char TAG[] = "0123456789abcdef0123456789abcdef";

static struct proc proc;
static int told;

static void ended(struct proc *p)
{
	CHECK(p == &proc && !p->running);
	told++;
	loop_stop(0);
}

/* A process that sleeps with this environment; it is running the new program when this returns. */
static pid_t sleeper(char *const *env)
{
	char *const argv[] = { "sleep", "60", NULL };
	int gate[2];
	pid_t pid;
	char c;

	CHECK(pipe2(gate, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		execve("/bin/sleep", argv, env);
		_exit(1);
	}
	close(gate[1]);
	CHECK(read(gate[0], &c, 1) == 0);
	close(gate[0]);
	return pid;
}

static void stop_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- reaping ---- */

static void exits(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(5);
	proc_add(&proc, pid, ended);
	CHECK(proc.running && proc.pid == pid);
	AWAIT(told == 1);
	CHECK(WIFEXITED(proc.status) && WEXITSTATUS(proc.status) == 5);
}

static void test_the_owner_is_told_once_with_the_status(void **state)
{
	(void)state;
	apart(exits);
}

static void ignored_before(void)
{
	signal(SIGCHLD, SIG_IGN);
	CHECK(proc_init() == 0);
	exits();
}

static void test_a_parent_that_ignored_sigchld_does_not_matter(void **state)
{
	(void)state;
	apart(ignored_before);
}

static void forgotten(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	proc_add(&proc, pid, ended);
	proc_forget(&proc);
	proc_forget(&proc);
	AWAIT(childless());
	CHECK(told == 0);
}

static void test_a_forgotten_process_is_reaped_in_silence(void **state)
{
	(void)state;
	apart(forgotten);
}

static void orphan(void)
{
	int gate[2];
	pid_t pid, grandchild;

	CHECK(pipe2(gate, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		grandchild = fork();
		if (grandchild == 0) {
			usleep(100000);
			_exit(0);
		}
		CHECK(write(gate[1], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
		_exit(0);
	}
	CHECK(read(gate[0], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
	AWAIT(childless());
	CHECK(kill(grandchild, 0) < 0 && errno == ESRCH);
}

static void test_orphans_come_to_us_and_are_reaped(void **state)
{
	(void)state;
	apart(orphan);
}

static void burst(void)
{
	for (int i = 0; i < 100; i++)
		if (fork() == 0)
			_exit(0);
	AWAIT(childless());
}

static void test_a_burst_of_ends_under_one_signal_is_reaped_whole(void **state)
{
	(void)state;
	apart(burst);
}

/* ---- tags ---- */

static void counts(char *const *env, int want)
{
	pid_t pid = sleeper(env);

	CHECK(proc_signal_tagged(TAG, 0, 0) == want);
	stop_sleeper(pid);
}

static void tags(void)
{
	static char big[20000], job[] = "SANDSTORM_JOB=0123456789abcdef0123456789abcdef";

	for (size_t pad = 4096 - sizeof(job) - 4; pad < 4096 + 4; pad++) {
		memset(big, 'x', pad);
		big[1] = '=';
		big[pad] = '\0';
		counts((char *const[]){ big, job, NULL }, 1);
	}
	counts((char *const[]){ job, NULL }, 1);
	counts((char *const[]){ "SANDSTORM_JOB=", "SANDSTORM_JOB=0123456789abcdef0123456789abcde",
		       NULL },
		0);
	counts((char *const[]){ "XSANDSTORM_JOB=0123456789abcdef0123456789abcdef", NULL }, 0);
	counts((char *const[]){ "X=SANDSTORM_JOB=0123456789abcdef0123456789abcdef", NULL }, 0);
	counts((char *const[]){ NULL }, 0);
}

static void test_the_variable_is_found_wherever_it_stands_and_only_it(void **state)
{
	(void)state;
	apart(tags);
}

static void prefix(void)
{
	pid_t one =
		sleeper((char *const[]){ "SANDSTORM_JOB=0123456789abcdefaaaaaaaaaaaaaaaa", NULL });
	pid_t two =
		sleeper((char *const[]){ "SANDSTORM_JOB=0123456789abcdefbbbbbbbbbbbbbbbb", NULL });
	pid_t other =
		sleeper((char *const[]){ "SANDSTORM_JOB=fedcba9876543210bbbbbbbbbbbbbbbb", NULL });

	CHECK(proc_signal_tagged("0123456789abcdef", SIGTERM, 0) == 2);
	CHECK(gone_soon(one) && gone_soon(two) && alive(other));
	CHECK(proc_signal_tagged("0123456789abcdef", 0, 0) == 0);
	stop_sleeper(other);
}

static void test_the_beginning_of_a_tag_stands_for_all_that_share_it(void **state)
{
	(void)state;
	apart(prefix);
}

static void group(void)
{
	char *const env[] = { "SANDSTORM_JOB=0123456789abcdef0123456789abcdef", NULL };
	pid_t pid = sleeper(env);

	CHECK(proc_signal_tagged(TAG, SIGKILL, getpgid(pid)) == 0);
	CHECK(alive(pid));
	CHECK(proc_signal_tagged(TAG, SIGKILL, getpgid(pid) + 1) == 1);
	CHECK(gone_soon(pid));
	stop_sleeper(pid);
}

static void test_the_members_of_a_group_are_left_out(void **state)
{
	(void)state;
	apart(group);
}

/* ---- marks ---- */

static rlim_t soft_limit(void)
{
	struct rlimit l;

	CHECK(getrlimit(RLIMIT_RTTIME, &l) == 0);
	return l.rlim_cur;
}

static void mark(void)
{
	char *const bare[] = { NULL };
	pid_t pid;

	proc_take_mark(proc_mark(TAG));
	CHECK(soft_limit() == proc_mark(TAG));
	pid = sleeper(bare);
	proc_take_mark(proc_mark("fedcba98765432100123456789abcdef"));
	CHECK(proc_signal_tagged("0123456789abcdeffedcba9876543210", 0, 0) == 0);
	CHECK(proc_signal_tagged("fedcba9876543210", 0, 0) == 0);
	CHECK(proc_signal_tagged("0123456789abcdef", 0, 0) == 1);
	CHECK(proc_signal_tagged(TAG, SIGTERM, 0) == 1);
	CHECK(gone_soon(pid));
}

static void test_a_process_that_threw_its_environment_away_is_known_by_its_limit(void **state)
{
	(void)state;
	apart(mark);
}

static void zombie(void)
{
	siginfo_t info;
	pid_t pid;

	proc_take_mark(proc_mark(TAG));
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(proc_signal_tagged(TAG, 0, 0) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_what_has_ended_and_is_not_reaped_yet_does_not_count(void **state)
{
	(void)state;
	apart(zombie);
}

static void limited_by_somebody(void)
{
	struct rlimit l = { 200000, 200000 };

	CHECK(setrlimit(RLIMIT_RTTIME, &l) == 0);
	proc_take_mark(proc_mark(TAG));
	CHECK(soft_limit() == 200000);
}

static void test_a_limit_that_somebody_means_stays(void **state)
{
	(void)state;
	apart(limited_by_somebody);
}

static void test_marks_differ_where_tags_do_and_limit_nothing(void **state)
{
	(void)state;
	assert_true(proc_mark(TAG) != proc_mark("1123456789abcdef0123456789abcdef"));
	assert_true(proc_mark(TAG) != proc_mark("0123456789abcdef0123456719abcdef"));
	assert_true(proc_mark("00000000000000000000000000000000") == (rlim_t)1 << 62);
	assert_true(proc_mark("ffffffffffffffffffffffffffffffff") == ((rlim_t)1 << 63) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_owner_is_told_once_with_the_status),
		cmocka_unit_test(test_a_parent_that_ignored_sigchld_does_not_matter),
		cmocka_unit_test(test_a_forgotten_process_is_reaped_in_silence),
		cmocka_unit_test(test_orphans_come_to_us_and_are_reaped),
		cmocka_unit_test(test_a_burst_of_ends_under_one_signal_is_reaped_whole),
		cmocka_unit_test(test_the_variable_is_found_wherever_it_stands_and_only_it),
		cmocka_unit_test(test_the_beginning_of_a_tag_stands_for_all_that_share_it),
		cmocka_unit_test(test_the_members_of_a_group_are_left_out),
		cmocka_unit_test(
			test_a_process_that_threw_its_environment_away_is_known_by_its_limit),
		cmocka_unit_test(test_what_has_ended_and_is_not_reaped_yet_does_not_count),
		cmocka_unit_test(test_a_limit_that_somebody_means_stays),
		cmocka_unit_test(test_marks_differ_where_tags_do_and_limit_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
