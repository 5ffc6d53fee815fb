/*
 * The state directory: where it is, when it is made, and that a lock in it belongs to one process.
 */
#include "unit.h"
#include "top_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/dirs.h"
#include "host/root.h"
#include "host/state_dir.h"

static int setup(void **state)
{
	return top_make(state) || root_open(in_top("root"));
}

static void assert_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_it_is_below_the_root_unless_configured(void **state)
{
	char here[PATH_MAX];

	(void)state;
	assert_int_equal(state_dir_setup(NULL), 0);
	assert_string_equal(state_dir_path(), in_top("root/.sandstorm-mcp"));
	assert_int_equal(state_dir_setup("/var/lib/x"), 0);
	assert_string_equal(state_dir_path(), "/var/lib/x");
	assert_int_equal(dirs_working(here, sizeof(here)), 0);
	assert_int_equal(state_dir_setup("some/where"), 0);
	assert_true(strncmp(state_dir_path(), here, strlen(here)) == 0);
	assert_string_equal(state_dir_path() + strlen(here), "/some/where");
}

static void test_it_can_be_below_the_root_of_the_machine(void **state)
{
	(void)state;
	assert_int_equal(root_open("/"), 0);
	assert_int_equal(state_dir_setup(NULL), 0);
	assert_string_equal(state_dir_path(), "/.sandstorm-mcp");
	assert_int_equal(root_open(in_top("root")), 0);
}

static void test_a_path_that_is_none_is_refused(void **state)
{
	static char longer[PATH_MAX + 1];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	assert_int_equal(state_dir_setup(longer), -ENAMETOOLONG);
}

static void test_it_is_made_when_first_needed_for_its_owner_alone(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(state_dir_setup(in_top("a/b/state")), 0);
	assert_int_equal(state_dir_check(), 0);
	assert_int_equal(state_dir_open(false), -ENOENT);
	assert_int_equal(access(in_top("a"), F_OK), -1);
	fd = state_dir_open(true);
	assert_true(fd >= 0);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	assert_mode(in_top("a/b/state"), 0700);
	fd = state_dir_open(false);
	assert_true(fd >= 0);
	close(fd);
}

static void test_one_that_cannot_be_made_is_told_beforehand(void **state)
{
	int fd = open(in_top("plain"), O_CREAT | O_WRONLY, 0600);

	(void)state;
	close(fd);
	assert_int_equal(state_dir_setup(in_top("plain/state")), 0);
	assert_int_equal(state_dir_check(), -ENOTDIR);
	assert_true(state_dir_open(true) < 0);
}

/* What another process gets for the lock. */
static int lock_elsewhere(int dir)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(-state_dir_lock(dir, "lock"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return -WEXITSTATUS(status);
}

static void test_a_lock_belongs_to_one_process_until_it_ends(void **state)
{
	int dir;

	(void)state;
	assert_int_equal(state_dir_setup(in_top("state")), 0);
	dir = state_dir_open(true);
	assert_true(dir >= 0);
	assert_int_equal(lock_elsewhere(dir), 0);
	assert_int_equal(state_dir_lock(dir, "lock"), 0);
	assert_int_equal(lock_elsewhere(dir), -EBUSY);
	assert_mode(in_top("state/lock"), 0600);
	close(dir);
}

static void test_a_lock_is_not_taken_through_a_link(void **state)
{
	int dir;

	(void)state;
	assert_int_equal(state_dir_setup(in_top("state2")), 0);
	dir = state_dir_open(true);
	assert_true(dir >= 0);
	assert_int_equal(symlinkat(in_top("victim"), dir, "lock"), 0);
	assert_int_equal(state_dir_lock(dir, "lock"), -ELOOP);
	assert_int_equal(access(in_top("victim"), F_OK), -1);
	close(dir);
}

static void test_it_is_hidden_from_git_when_it_is_made(void **state)
{
	char text[8] = "";
	int dir, fd;

	(void)state;
	assert_int_equal(state_dir_setup(in_top("hidden")), 0);
	dir = state_dir_open(true);
	fd = openat(dir, ".gitignore", O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), 2);
	assert_string_equal(text, "*\n");
	close(fd);
	assert_int_equal(unlinkat(dir, ".gitignore", 0), 0);
	close(dir);
	dir = state_dir_open(true);
	assert_int_equal(faccessat(dir, ".gitignore", F_OK, 0), -1);
	close(dir);
}

/* A clone could bring it along. */
static void test_a_link_in_its_place_is_not_followed_below_the_root(void **state)
{
	int dir;

	(void)state;
	assert_int_equal(mkdir(in_top("elsewhere"), 0700), 0);
	assert_int_equal(symlink("../elsewhere", in_top("root/.sandstorm-mcp")), 0);
	assert_int_equal(state_dir_setup(NULL), 0);
	assert_int_equal(state_dir_open(true), -ENOTDIR);
	assert_int_equal(state_dir_setup(in_top("root/.sandstorm-mcp")), 0);
	dir = state_dir_open(true);
	assert_true(dir >= 0);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_below_the_root_unless_configured),
		cmocka_unit_test(test_it_can_be_below_the_root_of_the_machine),
		cmocka_unit_test(test_a_path_that_is_none_is_refused),
		cmocka_unit_test(test_it_is_made_when_first_needed_for_its_owner_alone),
		cmocka_unit_test(test_one_that_cannot_be_made_is_told_beforehand),
		cmocka_unit_test(test_a_lock_belongs_to_one_process_until_it_ends),
		cmocka_unit_test(test_a_lock_is_not_taken_through_a_link),
		cmocka_unit_test(test_it_is_hidden_from_git_when_it_is_made),
		cmocka_unit_test(test_a_link_in_its_place_is_not_followed_below_the_root),
	};

	return cmocka_run_group_tests(tests, setup, top_remove);
}
