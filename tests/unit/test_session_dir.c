/*
 * The directories of a session: what is made, where commands may start, and what of the environment
 * is read back.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "host/root.h"
#include "host/session_dir.h"

#define ID "11111111-2222-4333-8444-555555555555"
#define OTHER "11111111-2222-4333-8444-555555555556"

static char top[64];
static struct session session = { .id = ID };
static struct buf mem;

static void shell(const char *command)
{
	char line[600];

	snprintf(line, sizeof(line), "cd %s && %s", top, command);
	assert_int_equal(system(line), 0);
}

static int setup(void **state)
{
	char root[128];

	(void)state;
	mem = unit_buf(MIB);
	strcpy(top, "/tmp/unit-session-dir-XXXXXX");
	assert_non_null(mkdtemp(top));
	shell("mkdir real && ln -s real root");
	snprintf(root, sizeof(root), "%s/root", top);
	return root_open(root);
}

static int teardown(void **state)
{
	shell("rm -rf real root");
	(void)state;
	buf_release(&mem);
	return rmdir(top);
}

static void make(struct slice task, struct slice env)
{
	assert_int_equal(session_dir_make(&session, task, env), 0);
}

static void test_its_path_is_told_with_the_root_resolved(void **state)
{
	char path[PATH_MAX], want[PATH_MAX];

	(void)state;
	assert_true(session_dir_path(&session, "/workspace", path, sizeof(path)));
	snprintf(want, sizeof(want), "%s/real/sessions/" ID "/workspace", top);
	assert_string_equal(path, want);
	assert_false(session_dir_path(&session, "", path, 20));
	assert_int_equal(root_open("/"), 0);
	assert_true(session_dir_path(&session, "", path, sizeof(path)));
	assert_string_equal(path, "/sessions/" ID);
}

/* Fault 55 */
static void test_the_context_is_for_its_owner_alone(void **state)
{
	(void)state;
	make(LIT("{}"), LIT("{\"A\": \"1\"}"));
	shell("cd real/sessions/" ID
	      " && test \"$(ls)\" = \"$(printf 'context\\noutputs\\nworkspace')\"");
	shell("cd real/sessions/" ID
	      "/context && test \"$(cat task.json env.json)\" = '{}{\"A\": \"1\"}'");
	shell("test \"$(stat -c %a real/sessions/" ID
	      "/context/*.json)\" = \"$(printf '600\\n600')\"");
	shell("test $(stat -c %a real/sessions/" ID "/context) = 700");
}

static void test_without_a_context_there_are_no_files(void **state)
{
	(void)state;
	make((struct slice){ 0 }, (struct slice){ 0 });
	shell("test -z \"$(ls real/sessions/" ID "/context)\"");
}

static void test_what_is_in_the_way_is_told(void **state)
{
	(void)state;
	make((struct slice){ 0 }, (struct slice){ 0 });
	assert_int_equal(session_dir_make(&session, LIT("x"), LIT("")), -EEXIST);
	shell("rm -rf real/sessions && echo x > real/sessions");
	assert_int_equal(session_dir_make(&session, LIT("x"), LIT("")), -ENOTDIR);
	shell("rm real/sessions && ln -s /tmp real/sessions");
	assert_int_equal(session_dir_make(&session, LIT("x"), LIT("")), -EXDEV);
}

/* --- where commands start --- */

static bool same(int fd, const char *path)
{
	char full[PATH_MAX + 128];
	struct stat a, b;

	snprintf(full, sizeof(full), "%s/%s", top, path);
	return fstat(fd, &a) == 0 && stat(full, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* "{}" stands for top. */
static int open_at(const char *given)
{
	char path[PATH_MAX];
	struct place p;

	if (strncmp(given, "{}", 2) == 0)
		snprintf(path, sizeof(path), "%s%s", top, given + 2);
	else
		snprintf(path, sizeof(path), "%s", given);
	return session_dir_open(&session, slice_of(path), &p);
}

static void leads(const char *given, const char *want)
{
	char path[PATH_MAX];
	int fd = open_at(given);

	snprintf(path, sizeof(path), "real/sessions/" ID "%s", want);
	if (fd < 0 || !same(fd, path))
		fail_msg("\"%s\" gives %d, not %s", given, fd, want);
	close(fd);
}

static void fails(const char *given, int err)
{
	int fd = open_at(given);

	if (fd != err)
		fail_msg("\"%s\" gives %d, not %d", given, fd, err);
}

/* Fault 54 */
static void test_commands_start_in_the_session_and_nowhere_else(void **state)
{
	(void)state;
	make((struct slice){ 0 }, (struct slice){ 0 });
	shell("mkdir -p real/sessions/" OTHER "/workspace real/outside real/sessions/" ID "x");
	leads("", "/workspace");
	leads(".", "/workspace");
	leads("a/b", "/workspace/a/b");
	leads("a/../c", "/workspace/c");
	leads("..", "");
	leads("../outputs", "/outputs");
	leads("{}/real/sessions/" ID, "");
	leads("{}/root/sessions/" ID "/workspace", "/workspace");
	leads("{}/real//sessions/./" ID "/outputs/", "/outputs");
	fails("/", -EXDEV);
	fails("/etc", -EXDEV);
	fails("../..", -EXDEV);
	fails("../../" OTHER "/workspace", -EXDEV);
	fails("../../" ID "x", -EXDEV);
	fails("{}/real", -EXDEV);
	fails("{}/real/outside", -EXDEV);
	fails("{}/real/sessions", -EXDEV);
	fails("{}/real/sessions/" OTHER, -EXDEV);
	fails("{}/real/sessions/" ID "x", -EXDEV);
	shell("test ! -e real/sessions/" OTHER "/workspace/a");
}

static void test_links_do_not_lead_out_of_the_session(void **state)
{
	(void)state;
	make((struct slice){ 0 }, (struct slice){ 0 });
	shell("mkdir -p real/outside real/sessions/" OTHER " && cd real/sessions/" ID
	      "/workspace && ln -s ../../" OTHER " other && ln -s ../../.. root && "
	      "ln -s /etc etc && ln -s ../outputs out && ln -s $PWD/in abs && mkdir in && "
	      "ln -s \"$(dirname \"$(dirname \"$(dirname \"$PWD\")\")\")\"/outside absout && "
	      "ln -s loop loop && ln -s ../.. up");
	leads("out", "/outputs");
	leads("abs", "/workspace/in");
	leads("out/new", "/outputs/new");
	fails("other", -EXDEV);
	fails("root", -EXDEV);
	fails("root/outside", -EXDEV);
	fails("etc", -EXDEV);
	fails("absout", -EXDEV);
	fails("absout/new", -EXDEV);
	fails("up/" OTHER, -EXDEV);
	fails("loop", -ELOOP);
	shell("test -z \"$(ls real/outside)\" && test -z \"$(ls real/sessions/" OTHER ")\"");
}

static void test_no_directory_no_command(void **state)
{
	struct place p;

	(void)state;
	fails("", -ENOENT);
	make((struct slice){ 0 }, (struct slice){ 0 });
	assert_int_equal(session_dir_find(&session, &p), 0);
	assert_string_equal(p.name, ID);
	place_close(&p);
	shell("rm -rf real/sessions/" ID);
	fails("", -ENOENT);
	fails("x", -ENOENT);
	assert_int_equal(session_dir_find(&session, &p), -ENOENT);
	place_close(&p);
	make((struct slice){ 0 }, (struct slice){ 0 });
	shell("rmdir real/sessions/" ID "/workspace");
	leads("", "/workspace");
	shell("echo x > real/sessions/" ID "/workspace/file");
	fails("file", -ENOTDIR);
	fails("file/x", -ENOTDIR);
}

/* --- the environment --- */

static int load(const char *const **env)
{
	buf_cut(&mem, 0);
	return session_dir_env(&session, &mem, env);
}

static void test_the_environment_comes_from_the_context(void **state)
{
	const char *const *env;

	(void)state;
	make(LIT("{}"), LIT("{\n  \"A\": \"\\u00e4\",\n  \"B\": 5\n}"));
	assert_int_equal(load(&env), 0);
	assert_string_equal(env[0], "A=\xc3\xa4");
	assert_string_equal(env[1], "B=5");
	assert_null(env[2]);
}

static void test_no_environment_is_none(void **state)
{
	const char *const *env;

	(void)state;
	make(LIT("{}"), LIT(""));
	assert_int_equal(load(&env), 0);
	assert_null(env);
	shell("rm -r real/sessions/" ID "/context");
	assert_int_equal(load(&env), 0);
	assert_null(env);
}

/* Commands of the session can write there. */
static void test_what_commands_made_of_it_is_looked_at_again(void **state)
{
	static const char *const changes[] = {
		"echo x > env.json",
		": > env.json",
		"echo '[]' > env.json",
		"echo '{\"1\":\"x\"}' > env.json",
		"echo '{\"A\":null}' > env.json",
		"head -c 70000 /dev/zero | tr '\\0' ' ' > env.json",
		"ln -sf /etc/passwd env.json",
		"rm env.json && mkfifo env.json",
		"rm env.json && mkdir env.json",
		"cd .. && rm -r context && ln -s /etc context",
	};
	const char *const *env;
	char command[300];

	(void)state;
	for (size_t i = 0; i < COUNT(changes); i++) {
		make(LIT("{}"), LIT("{\"A\": \"1\"}"));
		snprintf(command, sizeof(command), "cd real/sessions/" ID "/context && %s",
			changes[i]);
		shell(command);
		if (load(&env) != -EBADMSG || env)
			fail_msg("%s", changes[i]);
		shell("rm -rf real/sessions/" ID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_its_path_is_told_with_the_root_resolved),
		TEST(test_the_context_is_for_its_owner_alone),
		TEST(test_without_a_context_there_are_no_files),
		TEST(test_what_is_in_the_way_is_told),
		TEST(test_commands_start_in_the_session_and_nowhere_else),
		TEST(test_links_do_not_lead_out_of_the_session),
		TEST(test_no_directory_no_command),
		TEST(test_the_environment_comes_from_the_context),
		TEST(test_no_environment_is_none),
		TEST(test_what_commands_made_of_it_is_looked_at_again),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
