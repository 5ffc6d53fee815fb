/*
 * The table of background processes: who gets a place, who can be found and ended, what is told,
 * and their end with the server.
 */
#include "apart.h"
#include "top_dir.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "bounds.h"
#include "host/background.h"
#include "host/host.h"

static char text[64 * KIB];

/* A process of its own with a root of its own. */
static void with_root(const char *state_dir)
{
	struct host_config config = { top, 64 * KIB, state_dir };

	CHECK(top_make(NULL) == 0);
	CHECK(host_init(&config) == 0);
	mem_set_budget(MEM_BUDGET_MAX);
}

static void clean_up(void)
{
	CHECK(top_remove(NULL) == 0);
}

static struct background *start(const char *line)
{
	struct background *b = background_new();
	struct command c = { .cwd = -1, .path = "/bin/sh", .argv = { "/bin/sh", "-c", line } };

	CHECK(b != NULL);
	CHECK(background_start(b, &c, slice_of(line)) == 0);
	CHECK(b->pid > 1 && !b->gone);
	return b;
}

static void wait_gone(const struct background *b)
{
	AWAIT(b->gone);
}

/* What a putting function says. */
static const char *said(
	void (*put)(const struct background *b, struct buf *to), const struct background *b)
{
	struct buf out;

	buf_over(&out, text, sizeof(text) - 1);
	put(b, &out);
	CHECK(!out.failed);
	text[out.len] = '\0';
	return text;
}

static const char *list(void)
{
	struct buf out;

	buf_over(&out, text, sizeof(text) - 1);
	background_put_list(&out);
	CHECK(!out.failed);
	text[out.len] = '\0';
	return text;
}

static const char *file_of(const struct background *b)
{
	char path[256];
	struct buf to, content;

	buf_over(&to, path, sizeof(path));
	output_dir_put(&to, b->file);
	buf_putc(&to, '\0');
	buf_over(&content, text, sizeof(text) - 1);
	CHECK(read_file(path, &content) == 0);
	text[content.len] = '\0';
	return text;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* ---- what is told ---- */

static void told(void)
{
	struct background *b;
	char first[64];

	with_root(NULL);
	CHECK(!background_any());
	b = start("echo out; echo err >&2; exit 3");
	snprintf(first, sizeof(first), "[process %d, running since 20", (int)b->pid);
	CHECK(starts(file_of(b), first));
	CHECK(starts(said(background_put_state, b), "running for 0.0 s"));
	wait_gone(b);
	snprintf(first, sizeof(first), "[process %d, exit code 3 after 0.", (int)b->pid);
	CHECK(starts(file_of(b), first));
	CHECK(strstr(text, "\n$ echo out; echo err >&2; exit 3\nout\nerr\n[exit code 3 after 0."));
	CHECK(starts(said(background_put_state, b), "exit code 3 after 0."));
	CHECK(strstr(said(background_put_where, b), ", which file_read shows; "));
	CHECK(background_any());
	snprintf(first, sizeof(first), "%d exit code 3 after 0.", (int)b->pid);
	CHECK(starts(list(), first));
	CHECK(strstr(text, " s, 8 bytes of output in /tmp/") && strstr(text, ": echo out; "));
	clean_up();
}

static void test_file_list_and_answers_tell_how_it_is(void **state)
{
	(void)state;
	apart(told);
}

static void signalled(void)
{
	struct background *b;

	with_root(NULL);
	b = start("kill -9 $$");
	wait_gone(b);
	CHECK(starts(said(background_put_state, b), "signal 9 after 0."));
	clean_up();
}

static void test_death_by_signal_is_told_as_such(void **state)
{
	(void)state;
	apart(signalled);
}

static void held(void)
{
	struct background *b;

	with_root(NULL);
	b = start("(sleep 1; echo late) & exit 0");
	AWAIT(b->exited);
	CHECK(!b->gone);
	CHECK(strstr(said(background_put_state, b), "; a child still holds the output"));
	CHECK(strstr(file_of(b), "; a child still holds the output]"));
	wait_gone(b);
	CHECK(strstr(file_of(b), "\nlate\n[exit code 0 after 0."));
	CHECK(!strstr(text, "still holds"));
	clean_up();
}

static void test_output_that_outlives_the_program_is_kept(void **state)
{
	(void)state;
	apart(held);
}

static void memory_only(void)
{
	struct background *b;

	with_root("/dev/null/state");
	b = start("echo one; echo two; exit 1");
	CHECK(!b->file[0]);
	CHECK(starts(
		said(background_put_where, b), "Its output is kept in memory (Not a directory)"));
	wait_gone(b);
	CHECK(b->output.total == 8 && b->output.kept.total == 8);
	CHECK(strstr(list(), ", 8 bytes of output in memory (last line: two): echo one; "));
	clean_up();
}

static void test_without_a_state_directory_output_stays_in_memory(void **state)
{
	(void)state;
	apart(memory_only);
}

static void elsewhere(void)
{
	char dir[] = "/tmp/unit-background-state-XXXXXX", command[128];
	struct background *b;

	CHECK(mkdtemp(dir));
	with_root(dir);
	b = start("true");
	CHECK(b->file[0] && !b->readable);
	CHECK(strstr(said(background_put_where, b), "outside of the workspace root: show it with"));
	wait_gone(b);
	clean_up();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

static void test_a_file_out_of_reach_of_file_read_is_told_as_such(void **state)
{
	(void)state;
	apart(elsewhere);
}

/* ---- places ---- */

static void places(void)
{
	struct background *b[BACKGROUND_MAX], *again;
	int before = open_descriptors();

	with_root(NULL);
	for (int i = 0; i < BACKGROUND_MAX; i++)
		b[i] = start("exec sleep 60");
	CHECK(background_new() == NULL);
	CHECK(background_end(b[7]) == 0);
	wait_gone(b[7]);
	CHECK(background_end(b[3]) == 0);
	wait_gone(b[3]);
	CHECK(background_find(b[7]->pid) == b[7]);
	again = start("exec sleep 60");
	CHECK(again == b[7]);
	CHECK(background_find(b[3]->pid) == b[3]);
	CHECK(start("exec sleep 60") == b[3]);
	CHECK(background_new() == NULL);
	background_stop();
	for (int i = 0; i < BACKGROUND_MAX; i++) {
		wait_gone(b[i]);
		CHECK(gone_soon(b[i]->pid));
	}
	CHECK(open_descriptors() <= before + 4); /* root, signals */
	clean_up();
}

static void test_the_one_that_ended_first_gives_its_place(void **state)
{
	(void)state;
	apart(places);
}

static void unstartable(void)
{
	struct command c = { .cwd = -1, .path = "/nowhere", .argv = { "/nowhere" } };
	struct background *b;

	with_root(NULL);
	b = background_new();
	CHECK(background_start(b, &c, LIT("x")) == -ENOENT);
	CHECK(background_new() == b && !background_any());
	CHECK(list()[0] == '\0');
	clean_up();
}

static void test_what_cannot_be_started_leaves_no_entry(void **state)
{
	(void)state;
	apart(unstartable);
}

static void numbers(void)
{
	struct background *first, *second;

	with_root(NULL);
	first = start("exit 1");
	wait_gone(first);
	second = start("exit 2");
	wait_gone(second);
	second->pid = first->pid; /* the kernel gives numbers again */
	CHECK(background_find(first->pid) == second);
	CHECK(background_find(0) == NULL && background_find(-1) == NULL);
	CHECK(background_find(-first->pid) == NULL && background_find(getpid()) == NULL);
	CHECK(background_find((int64_t)first->pid + ((int64_t)1 << 32)) == NULL);
	clean_up();
}

static void test_only_numbers_of_the_table_are_found_and_the_latest_of_them(void **state)
{
	(void)state;
	apart(numbers);
}

/* ---- ending ---- */

static void ended(void)
{
	struct background *b;
	pid_t daemon;

	with_root(NULL);
	b = start("sleep 60 & echo $!; wait");
	AWAIT(b->output.total > 0);
	CHECK(background_end(b) == 0);
	wait_gone(b);
	CHECK(starts(said(background_put_state, b), "signal 15"));
	CHECK(background_end(b) == -ESRCH);
	b = start("setsid sleep 60 >/dev/null 2>&1 & echo $!; exit 0");
	wait_gone(b);
	CHECK(sscanf(strstr(file_of(b), "exit 0\n") + 7, "%d", &daemon) == 1 && alive(daemon));
	CHECK(background_end(b) == 0 && !b->gone);
	wait_gone(b);
	CHECK(gone_soon(daemon) && background_end(b) == -ESRCH);
	CHECK(starts(said(background_put_state, b), "exit code 0"));
	clean_up();
}

static void test_ending_reaches_all_and_nothing_twice(void **state)
{
	(void)state;
	apart(ended);
}

static void stopped(void)
{
	struct background *polite, *stubborn;
	int64_t began;

	with_root(NULL);
	background_stop(); /* none: nothing to wait for */
	polite = start("trap 'echo bye; exit 4' TERM; echo up; sleep 60 & wait");
	stubborn = start("trap '' TERM; echo up; while :; do sleep 1; done");
	AWAIT(polite->output.total > 0 && stubborn->output.total > 0);
	began = clock_ms();
	background_stop();
	CHECK(clock_ms() - began >= KILL_GRACE_MS);
	wait_gone(polite);
	wait_gone(stubborn);
	CHECK(strstr(file_of(polite), "up\nbye\n[exit code 4 after"));
	CHECK(strstr(file_of(stubborn), ", signal 9 after "));
	CHECK(gone_soon(stubborn->pid));
	clean_up();
}

static void test_at_the_end_of_the_server_they_can_clean_up(void **state)
{
	(void)state;
	apart(stopped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_list_and_answers_tell_how_it_is),
		cmocka_unit_test(test_death_by_signal_is_told_as_such),
		cmocka_unit_test(test_output_that_outlives_the_program_is_kept),
		cmocka_unit_test(test_without_a_state_directory_output_stays_in_memory),
		cmocka_unit_test(test_a_file_out_of_reach_of_file_read_is_told_as_such),
		cmocka_unit_test(test_the_one_that_ended_first_gives_its_place),
		cmocka_unit_test(test_what_cannot_be_started_leaves_no_entry),
		cmocka_unit_test(test_only_numbers_of_the_table_are_found_and_the_latest_of_them),
		cmocka_unit_test(test_ending_reaches_all_and_nothing_twice),
		cmocka_unit_test(test_at_the_end_of_the_server_they_can_clean_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
