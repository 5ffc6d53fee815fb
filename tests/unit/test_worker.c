/*
 * Work in a copy of the process: what it finds out comes back, and it holds nothing it was not
 * given.
 */
#include "apart.h"

#include <fcntl.h>

static int told;
static struct timer later;
static int given = -1; /* a descriptor the work was given */
static struct worker *running;

static void work_done(struct worker *w)
{
	(void)w;
	told++;
	loop_stop(0);
}

static void run(
	struct worker *w, void (*work)(struct worker *w, struct outcome *o), const int *keep)
{
	*w = (struct worker){ .work = work, .done = work_done, .keep = keep };
	running = w;
	CHECK(worker_start(w) == 0);
	CHECK(told == 0);
	loop_run();
	CHECK(told == 1);
}

static void fails(struct worker *w, struct outcome *o)
{
	(void)w;
	o->err = -ENOSPC;
	o->which = 2;
}

static void outcome(void)
{
	struct worker w;
	int before = open_descriptors();

	run(&w, fails, NULL);
	CHECK(w.outcome.err == -ENOSPC && w.outcome.which == 2);
	CHECK(open_descriptors() == before);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_the_outcome_comes_back(void **state)
{
	(void)state;
	apart(outcome);
}

static void says_nothing(struct worker *w, struct outcome *o)
{
	(void)w;
	(void)o;
	kill(getpid(), SIGSEGV);
	_exit(0);
}

static void silent(void)
{
	struct worker w;

	run(&w, says_nothing, NULL);
	CHECK(w.outcome.err == -ECANCELED);
}

static void test_a_worker_that_dies_is_canceled(void **state)
{
	(void)state;
	apart(silent);
}

static void sleeps(struct worker *w, struct outcome *o)
{
	(void)w;
	(void)o;
	sleep(80);
}

static void end_now(struct timer *t)
{
	(void)t;
	worker_end(running);
	CHECK(told == 0);
	worker_end(running);
}

static void stopped(void)
{
	struct worker w;
	int64_t began = clock_ms();

	later.fire = end_now;
	timer_set(&later, 50);
	run(&w, sleeps, NULL);
	CHECK(w.outcome.err == -ECANCELED);
	CHECK(clock_ms() - began < 60000); /* it would sleep for 80 s */
}

static void test_ending_it_kills_and_reports_once(void **state)
{
	(void)state;
	apart(stopped);
}

/* which: bit i stands for descriptor i being open. */
static void looks_around(struct worker *w, struct outcome *o)
{
	(void)w;
	for (int fd = 0; fd < 31; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			o->which |= 1 << fd;
	o->err = write(given, "x", 1) == 1 && write(1, "y", 1) < 0 && write(2, "z", 1) < 0 ? 0
											   : -EBADF;
}

static void descriptors(void)
{
	int pipes[2], keep[] = { -1, -1 };
	struct worker w;
	int open = 0;
	char c;

	CHECK(pipe2(pipes, O_CLOEXEC) == 0);
	CHECK(dup2(pipes[1], 20) == 20 && dup2(pipes[1], 25) == 25);
	close(pipes[1]);
	given = keep[0] = 20;
	run(&w, looks_around, keep);
	CHECK(w.outcome.err == 0);
	CHECK(read(pipes[0], &c, 1) == 1 && c == 'x');
	for (int fd = 3; fd < 31; fd++)
		open += (w.outcome.which >> fd) & 1;
	CHECK((w.outcome.which & 7) == 7);
	CHECK(w.outcome.which & 1 << 20);
	CHECK(open == 2); /* what it was given and its own pipe */
}

static void descriptors_old_kernel(void)
{
	apart_without(SYS_close_range, ENOSYS);
	descriptors();
}

static void test_it_holds_only_what_it_was_given(void **state)
{
	(void)state;
	apart(descriptors);
	apart(descriptors_old_kernel);
}

/* A server that dies without a word: its worker must not go on. */
static void orphaned(void)
{
	int gate[2], seen[2], pid_is;
	pid_t server;
	char c;

	CHECK(pipe2(gate, O_CLOEXEC) == 0 && pipe2(seen, O_CLOEXEC) == 0);
	server = fork();
	if (server == 0) {
		struct worker w = { .work = sleeps, .done = work_done };

		CHECK(worker_start(&w) == 0);
		pid_is = w.proc.pid;
		CHECK(write(gate[1], &pid_is, sizeof(pid_is)) == sizeof(pid_is));
		CHECK(read(seen[0], &c, 1) == 1);
		raise(SIGKILL);
	}
	CHECK(read(gate[0], &pid_is, sizeof(pid_is)) == sizeof(pid_is));
	CHECK(alive(pid_is));
	CHECK(write(seen[1], "x", 1) == 1);
	CHECK(waitpid(server, NULL, 0) == server);
	CHECK(gone_soon(pid_is));
}

static void test_it_dies_with_the_server(void **state)
{
	(void)state;
	apart(orphaned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_outcome_comes_back),
		cmocka_unit_test(test_a_worker_that_dies_is_canceled),
		cmocka_unit_test(test_ending_it_kills_and_reports_once),
		cmocka_unit_test(test_it_holds_only_what_it_was_given),
		cmocka_unit_test(test_it_dies_with_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
