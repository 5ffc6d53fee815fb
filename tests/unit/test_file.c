/*
 * Small files of our own: read whole, created once, replaced whole.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"

static char dir[] = "/tmp/file-XXXXXX";
static char path[64], mem[64];

static struct slice content(void)
{
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	assert_int_equal(read_file(path, &b), 0);
	return buf_all(&b);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return st.st_mode;
}

static int setup(void **state)
{
	struct buf b;

	(void)state;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	buf_over(&b, path, sizeof(path));
	buf_printf(&b, "%s/state", dir);
	buf_putc(&b, '\0');
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir); /* fails when a temporary file is left */
}

static void test_a_new_file_has_its_text_and_mode(void **state)
{
	(void)state;
	assert_int_equal(create_file(path, 0600, LIT("a\0b")), 0);
	assert_slice(content(), "a\0b");
	assert_int_equal(mode_of(path), S_IFREG | 0600);
}

static void test_creating_leaves_what_is_there(void **state)
{
	(void)state;
	assert_int_equal(create_file(path, 0600, LIT("old")), 0);
	assert_int_equal(create_file(path, 0600, LIT("new")), -EEXIST);
	assert_slice(content(), "old");
}

static void test_replacing_gives_the_new_text_and_mode(void **state)
{
	(void)state;
	assert_int_equal(create_file(path, 0644, LIT("a longer old text")), 0);
	assert_int_equal(replace_file(path, 0600, LIT("new")), 0);
	assert_slice(content(), "new");
	assert_int_equal(mode_of(path), S_IFREG | 0600);
	assert_int_equal(replace_file(path, 0600, LIT("")), 0);
	assert_slice(content(), "");
}

static void test_replacing_a_link_leaves_its_target_alone(void **state)
{
	(void)state;
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(replace_file(path, 0600, LIT("mine")), 0);
	assert_int_equal(mode_of(path), S_IFREG | 0600);
	assert_slice(content(), "mine");
}

static void test_what_is_no_file_keeps_its_name(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(replace_file(path, 0600, LIT("x")), -EMEDIUMTYPE);
	assert_int_equal(mode_of(path), S_IFIFO | 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/fd/1", path), 0); /* as /dev/stdout is one */
	assert_int_equal(replace_file(path, 0600, LIT("x")), -EMEDIUMTYPE);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFLNK);
}

static void test_a_directory_is_not_replaced(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(replace_file(path, 0600, LIT("x")), -EISDIR);
	assert_int_equal(rmdir(path), 0);
}

/* A second name beside path. */
static const char *other_path(const char *suffix)
{
	static char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.%s", path, suffix);
	return other;
}

static void test_two_files_are_replaced_together(void **state)
{
	struct new_file first = { path, 0600, LIT("first") };
	struct new_file second = { other_path("2"), 0644, LIT("second") };

	(void)state;
	assert_int_equal(create_file(path, 0644, LIT("old")), 0);
	assert_int_equal(replace_pair(&first, &second), 0);
	assert_slice(content(), "first");
	assert_int_equal(mode_of(path), S_IFREG | 0600);
	assert_int_equal(mode_of(second.path), S_IFREG | 0644);
	assert_int_equal(unlink(second.path), 0);
}

static void test_neither_is_when_one_cannot_be(void **state)
{
	struct new_file first = { path, 0600, LIT("first") };
	struct new_file nowhere = { "/nowhere/here", 0644, LIT("second") };
	struct new_file directory = { other_path("2"), 0644, LIT("second") };

	(void)state;
	assert_int_equal(create_file(path, 0644, LIT("old")), 0);
	assert_int_equal(replace_pair(&first, &nowhere), -ENOENT);
	assert_int_equal(replace_pair(&nowhere, &first), -ENOENT);
	assert_slice(content(), "old");
	assert_int_equal(mkdir(directory.path, 0700), 0);
	assert_int_equal(replace_pair(&directory, &first), -EISDIR);
	assert_slice(content(), "old");
	assert_int_equal(rmdir(directory.path), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0); /* so nothing else is left in it */
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void test_a_file_that_does_not_fit_is_told(void **state)
{
	char small[4];
	struct buf b;

	(void)state;
	assert_int_equal(create_file(path, 0600, LIT("12345")), 0);
	buf_over(&b, small, sizeof(small));
	assert_int_equal(read_file(path, &b), -E2BIG);
	buf_over(&b, mem, 5);
	assert_int_equal(read_file(path, &b), 0);
}

static void test_what_is_missing_or_no_file_is_told(void **state)
{
	struct buf b;

	(void)state;
	buf_over(&b, mem, sizeof(mem));
	assert_int_equal(read_file(path, &b), -ENOENT);
	assert_int_equal(read_file(dir, &b), -EISDIR);
	assert_int_equal(replace_file("/nowhere/here", 0600, LIT("x")), -ENOENT);
}

static void test_a_fifo_without_a_writer_is_empty(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_slice(content(), "");
}

static void test_a_pipe_that_is_written_slowly_is_read_whole(void **state)
{
	struct buf b;
	char name[32];
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd[0]);
	if (fork() == 0) {
		close(fd[0]);
		usleep(50 * 1000);
		_exit(write(fd[1], "token", 5) == 5 ? 0 : 1);
	}
	close(fd[1]);
	buf_over(&b, mem, sizeof(mem));
	assert_int_equal(read_file(name, &b), 0);
	assert_slice(buf_all(&b), "token");
	close(fd[0]);
	assert_int_equal(wait(NULL) > 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_new_file_has_its_text_and_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_creating_leaves_what_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_replacing_gives_the_new_text_and_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_no_file_keeps_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_replacing_a_link_leaves_its_target_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_is_not_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_two_files_are_replaced_together, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_neither_is_when_one_cannot_be, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_file_that_does_not_fit_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_fifo_without_a_writer_is_empty, setup, teardown),
		cmocka_unit_test(test_a_pipe_that_is_written_slowly_is_read_whole),
		cmocka_unit_test_setup_teardown(
			test_what_is_missing_or_no_file_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
