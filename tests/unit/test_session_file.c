/*
 * The state file: what is acknowledged is there after any end of the process, and a disk that takes
 * nothing leaves what was there.
 */
#include "apart.h"
#include "top_dir.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "host/root.h"
#include "host/session_file.h"
#include "host/session_log.h"
#include "host/state_dir.h"

#define NOW INT64_C(1796000000000)

static struct session_table table;
static struct session_sync sync_wait;
static int told;

/* --- what the tests do --- */

static void open_there(void)
{
	log_setup(LOG_ERROR, false);
	CHECK(root_open(in_top("root")) == 0);
	CHECK(state_dir_setup(in_top("state")) == 0);
}

static void start(void)
{
	open_there();
	CHECK(session_file_open(&table, NOW) == 0);
}

static void synced(struct session_sync *s)
{
	(void)s;
	told++;
	loop_stop(0);
}

/* Until all is safe; gives what came of it. */
static int settle(void)
{
	sync_wait = (struct session_sync){ .done = synced };
	if (!session_file_wait(&sync_wait))
		return 0;
	told = 0;
	loop_run();
	CHECK(told == 1);
	return sync_wait.err;
}

static int add(void (*put)(struct buf *b, const struct session *s), const struct session *s)
{
	char mem[SESSION_LINE_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	put(&b, s);
	return session_file_add(buf_all(&b));
}

static struct session *new_session(void)
{
	char id[SESSION_ID_LEN + 1];
	struct session *s;

	CHECK(session_make_id(id));
	s = session_add(&table, slice_of(id), LIT("work"), NOW, 30);
	CHECK(s);
	return s;
}

static struct session *add_session(void)
{
	struct session *s = new_session();

	CHECK(add(session_put_create, s) == 0);
	return s;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(in_top(name), &st) < 0 ? -1 : st.st_size;
}

static int rows(void)
{
	struct session *s = NULL;
	int n = 0;

	while ((s = session_next(&table, s)))
		n++;
	return n;
}

/* --- in order --- */

static void first_use(void)
{
	struct stat st;

	start();
	CHECK(!session_file_wait(&sync_wait));
	CHECK(access(in_top("state"), F_OK) < 0);
	add_session();
	CHECK(settle() == 0);
	CHECK(stat(in_top("state/sessions.jsonl"), &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(access(in_top("state/sessions.jsonl.new"), F_OK) < 0);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_it_is_made_with_the_first_session(void **state)
{
	(void)state;
	apart(first_use);
}

static char kept[2][SESSION_ID_LEN + 1];

static void write_some(void)
{
	struct session *a, *b;

	start();
	a = add_session();
	b = session_add(&table, slice_of(kept[1]), LIT("x"), NOW, 60);
	CHECK(add(session_put_create, b) == 0);
	CHECK(session_ready(a) && session_extend(a, 15));
	CHECK(add(session_put_extend, a) == 0);
	CHECK(session_clean(b, NOW + 1000));
	CHECK(add(session_put_clean, b) == 0);
	CHECK(settle() == 0);
}

static void read_some(void)
{
	const struct session *s;
	off_t size = size_of("state/sessions.jsonl");

	start();
	CHECK(rows() == 2);
	s = session_find(&table, slice_of(kept[1]));
	CHECK(s && s->state == SESSION_CLEANED && s->cleaned == NOW);
	s = session_next(&table, NULL);
	CHECK(s->state == SESSION_READY && s->end == NOW + 45 * 60000);
	CHECK(size_of("state/sessions.jsonl") < size); /* written anew */
	CHECK(access(in_top("state/sessions.jsonl.new"), F_OK) < 0);
}

static void test_another_run_finds_what_was_there(void **state)
{
	(void)state;
	strcpy(kept[1], "00000000-0000-4000-8000-000000000001");
	apart(write_some);
	apart(read_some);
}

static void syncs_together(void)
{
	struct session_sync other = { .done = synced };

	start();
	for (int i = 0; i < 100; i++)
		add_session();
	CHECK(session_file_wait(&other));
	session_file_forget(&other);
	session_file_forget(&other);
	CHECK(settle() == 0);
	CHECK(told == 1);
	CHECK(rows() == 100);
}

static void test_one_sync_serves_all_and_who_left_is_not_told(void **state)
{
	(void)state;
	apart(syncs_together);
}

static void grows(void)
{
	struct session *s;
	off_t most = 0;

	start();
	s = add_session();
	CHECK(session_ready(s));
	for (int i = 0; i < 20000; i++) {
		CHECK(add(session_put_extend, s) == 0);
		if (i % 500 == 0) {
			CHECK(settle() == 0);
			if (size_of("state/sessions.jsonl") > most)
				most = size_of("state/sessions.jsonl");
		}
	}
	CHECK(settle() == 0);
	CHECK(most > SESSION_LOG_MAX / 2 && most <= SESSION_LOG_MAX + 500 * SESSION_LINE_MAX);
	CHECK(size_of("state/sessions.jsonl") < SESSION_LOG_MAX);
}

static void test_its_size_is_bounded(void **state)
{
	(void)state;
	apart(grows);
}

/* --- when things go wrong --- */

static void limit_size(rlim_t n)
{
	struct rlimit limit = { n, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void disk_full(void)
{
	struct session *s, *t;
	off_t size;

	start();
	s = add_session();
	CHECK(settle() == 0);
	size = size_of("state/sessions.jsonl");
	limit_size((rlim_t)size + 40); /* part of a line would fit */
	t = new_session();
	CHECK(add(session_put_create, t) == -EFBIG);
	CHECK(size_of("state/sessions.jsonl") == size);
	session_drop(t);
	limit_size(RLIM_INFINITY);
	CHECK(session_clean(s, NOW + 1));
	CHECK(add(session_put_clean, s) == 0);
	CHECK(settle() == 0);
	CHECK(size_of("state/sessions.jsonl") > size);
}

static void finds_one_cleaned(void)
{
	start();
	CHECK(rows() == 1 && session_next(&table, NULL)->state == SESSION_CLEANED);
}

static void test_a_full_disk_leaves_what_was_there(void **state)
{
	(void)state;
	apart(disk_full);
	apart(finds_one_cleaned);
}

static void full_from_the_start(void)
{
	start();
	limit_size(0);
	CHECK(add(session_put_create, new_session()) == -EFBIG);
	CHECK(access(in_top("state/sessions.jsonl.new"), F_OK) < 0);
	limit_size(RLIM_INFINITY);
	add_session();
	CHECK(settle() == 0);
}

static void test_a_full_disk_may_be_emptied(void **state)
{
	(void)state;
	apart(full_from_the_start);
}

static void run(const char *command)
{
	char line[300];

	snprintf(line, sizeof(line), "cd %s && %s", top, command);
	CHECK(system(line) == 0);
}

static void one_session(void)
{
	start();
	add_session();
	CHECK(settle() == 0);
}

/* Where no new file can be written, here since a directory has its name. */
static void torn_and_full(void)
{
	off_t size = size_of("state/sessions.jsonl");

	run("printf '{\"op\":\"create\",\"id' >> state/sessions.jsonl && "
	    "mkdir state/sessions.jsonl.new");
	start();
	CHECK(size_of("state/sessions.jsonl") == size);
	CHECK(rows() == 1);
	add_session();
	CHECK(settle() == 0);
	CHECK(size_of("state/sessions.jsonl") > size);
}

static void finds_two(void)
{
	run("rmdir state/sessions.jsonl.new");
	start();
	CHECK(rows() == 2);
}

static void test_a_torn_line_is_cut_off_where_there_is_no_room_for_a_new_file(void **state)
{
	(void)state;
	apart(one_session);
	apart(torn_and_full);
	apart(finds_two);
}

static void state_dir_lost(void)
{
	start();
	add_session();
	CHECK(settle() == 0);
	run("rm -rf state");
	add_session();
	CHECK(settle() == 0);
	run("rm -rf state");
	session_clean(session_next(&table, NULL), NOW);
	CHECK(add(session_put_clean, session_next(&table, NULL)) == 0);
	CHECK(settle() == 0);
}

static void finds_two_again(void)
{
	start();
	CHECK(rows() == 2 && session_next(&table, NULL)->state == SESSION_CLEANED);
}

static void test_a_removed_state_directory_comes_back_whole(void **state)
{
	(void)state;
	apart(state_dir_lost);
	apart(finds_two_again);
}

static void no_processes(void)
{
	start();
	apart_without(SYS_clone, EAGAIN);
	add_session();
	CHECK(settle() == 0);
	CHECK(size_of("state/sessions.jsonl") > 0);
}

static void test_without_a_worker_the_loop_syncs(void **state)
{
	(void)state;
	apart(no_processes);
}

/* --- in memory --- */

static void no_place(void)
{
	struct session *s;

	run("echo x > state");
	open_there();
	CHECK(session_file_open(&table, NOW) == -ENOTDIR);
	s = add_session();
	CHECK(settle() == 0);
	CHECK(session_ready(s) && add(session_put_extend, s) == 0);
	CHECK(!session_file_wait(&sync_wait));
	CHECK(size_of("state") == 2);
}

static void test_without_a_place_sessions_are_in_memory(void **state)
{
	(void)state;
	apart(no_place);
}

static void finds_two_in_order(void)
{
	start();
	CHECK(rows() == 2);
}

/* A process of its own from before the first server's start. */
static pid_t later_server(int go)
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		CHECK(read(go, &byte, 1) == 1);
		open_there();
		CHECK(session_file_open(&table, NOW) == -EBUSY && rows() == 0);
		add_session();
		CHECK(settle() == 0);
		_exit(0);
	}
	return pid;
}

static void two_servers(void)
{
	int go[2], status;
	pid_t pid;

	CHECK(pipe(go) == 0);
	pid = later_server(go[0]);
	start();
	add_session();
	CHECK(settle() == 0);
	CHECK(write(go[1], "x", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	add_session();
	CHECK(settle() == 0);
}

static void test_the_file_of_another_server_is_left_alone(void **state)
{
	(void)state;
	apart(two_servers);
	apart(finds_two_in_order);
}

static void file_is_a_link(void)
{
	run("mkdir -p state && ln -s /etc/passwd state/sessions.jsonl");
	open_there();
	CHECK(session_file_open(&table, NOW) == -ELOOP);
	add_session();
	CHECK(settle() == 0);
}

static void test_a_link_in_its_place_is_not_followed(void **state)
{
	(void)state;
	apart(file_is_a_link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, top_make, top_remove)
		TEST(test_it_is_made_with_the_first_session),
		TEST(test_another_run_finds_what_was_there),
		TEST(test_one_sync_serves_all_and_who_left_is_not_told),
		TEST(test_its_size_is_bounded),
		TEST(test_a_full_disk_leaves_what_was_there),
		TEST(test_a_full_disk_may_be_emptied),
		TEST(test_a_torn_line_is_cut_off_where_there_is_no_room_for_a_new_file),
		TEST(test_a_removed_state_directory_comes_back_whole),
		TEST(test_without_a_worker_the_loop_syncs),
		TEST(test_without_a_place_sessions_are_in_memory),
		TEST(test_the_file_of_another_server_is_left_alone),
		TEST(test_a_link_in_its_place_is_not_followed),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
