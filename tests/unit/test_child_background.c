/*
 * Commands that run in the background: output as it comes, the end of the program apart from that
 * of its output, and the end of what a program has left behind.
 */
#include "child_run.h"

#include <fcntl.h>

static struct {
	struct child c;
	char text[8 * KIB];
	size_t n;
	int exited, done;
	size_t n_exited; /* bytes that had come when the program ended */
	void (*at_exit)(void);
} bg;

static void got(struct child *c, struct slice bytes)
{
	CHECK(c == &bg.c && bg.n + bytes.n < sizeof(bg.text));
	memcpy(bg.text + bg.n, bytes.p, bytes.n);
	bg.n += bytes.n;
	bg.text[bg.n] = '\0';
}

static void exited(struct child *c)
{
	CHECK(!c->proc.running);
	bg.exited++;
	bg.n_exited = bg.n;
	if (bg.at_exit)
		bg.at_exit();
}

static void done(struct child *c)
{
	(void)c;
	bg.done++;
	loop_stop(0);
}

static void start(const char *command)
{
	const char *argv[] = { "/bin/sh", "-c", command, NULL };

	memset(&bg, 0, sizeof(bg));
	bg.c = (struct child){
		.path = argv[0], .argv = argv, .cwd = -1, .got = got, .exited = exited, .done = done
	};
	CHECK(child_start(&bg.c) == 0);
}

static pid_t first_pid(void)
{
	pid_t pid = (pid_t)atoi(bg.text);

	CHECK(pid > 1);
	return pid;
}

static void both(void)
{
	start("echo a; echo b >&2; echo c; exit 3");
	loop_run();
	CHECK(strcmp(bg.text, "a\nb\nc\n") == 0);
	CHECK(bg.exited == 1 && bg.done == 1);
	CHECK(child_exit_code(&bg.c) == 3 && !bg.c.held && !bg.c.killed);
	CHECK(child_count() == 0 && !child_left_any(&bg.c));
}

static void test_both_streams_come_in_order_and_the_end_once(void **state)
{
	(void)state;
	apart(both);
}

static void status_known(void)
{
	CHECK(child_exit_code(&bg.c) == 5);
}

/* Far longer than DRAIN_IDLE_MS of silence. */
static void outlived(void)
{
	start("(sleep 1; echo late) & echo early; exit 5");
	bg.at_exit = status_known;
	AWAIT(bg.exited == 1);
	CHECK(bg.done == 0 && child_count() == 1);
	loop_run();
	CHECK(strcmp(bg.text, "early\nlate\n") == 0 && bg.n_exited <= 6);
	CHECK(bg.exited == 1 && bg.done == 1 && child_exit_code(&bg.c) == 5);
}

static void test_output_after_the_end_of_the_program_still_comes(void **state)
{
	(void)state;
	apart(outlived);
}

static void ended_later(void)
{
	start("sleep 60 & echo $!; sleep 61 & exit 0");
	AWAIT(bg.exited == 1 && bg.n > 0);
	run_ms(2 * DRAIN_IDLE_MS); /* silence ends nothing */
	CHECK(bg.done == 0 && alive(first_pid()));
	child_end(&bg.c);
	loop_run();
	CHECK(bg.done == 1 && !bg.c.killed && !bg.c.held);
	CHECK(gone_soon(first_pid()));
}

static void test_what_holds_the_pipe_ends_when_asked_to(void **state)
{
	(void)state;
	apart(ended_later);
}

/* Nothing tells us that it runs: it is in nobody's group and holds no pipe. */
static void left_behind(void)
{
	start("setsid sh -c \"trap '' TERM; echo \\$\\$; exec sleep 60 >/dev/null 2>&1\" &");
	loop_run();
	CHECK(bg.done == 1 && child_count() == 0);
	CHECK(child_left_any(&bg.c) && alive(first_pid()));
	child_end(&bg.c);
	CHECK(child_count() == 1);
	loop_run();
	CHECK(bg.exited == 1 && bg.done == 2 && bg.c.killed && child_count() == 0);
	CHECK(child_exit_code(&bg.c) == 0);
	CHECK(gone_soon(first_pid()) && !child_left_any(&bg.c));
}

static void test_what_a_program_left_behind_can_still_be_ended(void **state)
{
	(void)state;
	apart(left_behind);
}

static void ended_while_running(void)
{
	/* as long as it is not sleep yet it has the shell's trap, and TERM would be lost on it */
	start("trap 'echo bye; exit 4' TERM; sleep 60 &"
	      "until read name < /proc/$!/comm && [ $name = sleep ]; do :; done; echo $!; wait");
	AWAIT(bg.n > 0);
	child_end(&bg.c);
	loop_run();
	CHECK(strstr(bg.text, "bye\n") && child_exit_code(&bg.c) == 4 && !bg.c.killed);
	CHECK(bg.exited == 1 && bg.done == 1 && gone_soon(first_pid()));
	child_end(&bg.c);
	loop_run();
	CHECK(bg.exited == 1 && bg.done == 2);
}

static void test_ending_it_again_when_nothing_is_left_is_harmless(void **state)
{
	(void)state;
	apart(ended_while_running);
}

/* The parent is gone before it could end anything itself. */
static void orphaned(void)
{
	int gate[2], status;
	pid_t server, pid;

	CHECK(pipe2(gate, O_CLOEXEC) == 0);
	server = fork();
	if (server == 0) {
		start("exec sleep 60");
		CHECK(write(gate[1], &bg.c.proc.pid, sizeof(pid)) == sizeof(pid));
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(server, &status, 0) == server);
	CHECK(read(gate[0], &pid, sizeof(pid)) == sizeof(pid));
	CHECK(gone_soon(pid));
}

static void test_it_ends_with_a_server_that_is_killed(void **state)
{
	(void)state;
	apart(orphaned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_streams_come_in_order_and_the_end_once),
		cmocka_unit_test(test_output_after_the_end_of_the_program_still_comes),
		cmocka_unit_test(test_what_holds_the_pipe_ends_when_asked_to),
		cmocka_unit_test(test_what_a_program_left_behind_can_still_be_ended),
		cmocka_unit_test(test_ending_it_again_when_nothing_is_left_is_harmless),
		cmocka_unit_test(test_it_ends_with_a_server_that_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
