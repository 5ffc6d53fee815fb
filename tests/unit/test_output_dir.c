/*
 * The directory of output files: names in the order of time, and how old files make room.
 */
#include "unit.h"
#include "top_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "bounds.h"
#include "host/output_dir.h"
#include "host/root.h"
#include "host/state_dir.h"

static int setup(void **state)
{
	return top_make(state) || root_open(top) < 0 || state_dir_setup(NULL) < 0;
}

static int touch(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void touch_closed(int dir, const char *name)
{
	close(touch(dir, name));
}

static bool there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, 0) == 0;
}

/* The file of second i. */
static const char *file(int i)
{
	static char name[OUTPUT_NAME];

	snprintf(name, sizeof(name), "20260131-12%02d%02d-%d.log", i / 60 % 60, i % 60, 10000 - i);
	return name;
}

static void empty(int dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/.sandstorm-mcp/background/*", top);
	assert_int_equal(system(command), 0);
	close(dir);
}

static void test_it_is_made_when_first_needed(void **state)
{
	char path[128];
	struct stat st;
	int dir;

	(void)state;
	snprintf(path, sizeof(path), "%s/.sandstorm-mcp/background", top);
	assert_int_equal(stat(path, &st), -1);
	dir = output_dir_open();
	assert_true(dir >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	close(dir);
}

static void test_names_carry_time_and_number(void **state)
{
	char name[OUTPUT_NAME], text[256];
	struct buf b;

	(void)state;
	output_dir_name(name, 4194304);
	assert_int_equal(strlen(name), strlen("20260131-120000-4194304.log"));
	assert_string_equal(name + 15, "-4194304.log");
	buf_over(&b, text, sizeof(text));
	output_dir_put(&b, name);
	buf_putc(&b, '\0');
	assert_memory_equal(text, top, strlen(top));
	assert_string_equal(strrchr(text, '/') + 1, name);
	assert_non_null(strstr(text, "/.sandstorm-mcp/background/"));
}

static void test_the_oldest_go_first_and_other_files_stay(void **state)
{
	int dir = output_dir_open();

	(void)state;
	for (int i = 0; i < BACKGROUND_FILES + 10; i++)
		touch_closed(dir, file(i));
	touch_closed(dir, "notes.txt");
	touch_closed(dir, "0");
	touch_closed(dir, "a.log");
	close(dir);
	dir = output_dir_open();
	assert_true(there(dir, "notes.txt") && there(dir, "0") && there(dir, "a.log"));
	assert_false(there(dir, file(0)) || there(dir, file(10)));
	assert_true(there(dir, file(11)) && there(dir, file(BACKGROUND_FILES + 9)));
	empty(dir);
}

static void test_what_may_still_be_written_stays(void **state)
{
	int dir = output_dir_open(), running[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		running[i] = touch(dir, file(i));
		assert_int_equal(flock(running[i], LOCK_EX), 0);
	}
	for (int i = 3; i < BACKGROUND_FILES + 10; i++)
		touch_closed(dir, file(i));
	close(dir);
	dir = output_dir_open();
	for (int i = 0; i < 3; i++) {
		assert_true(there(dir, file(i)));
		close(running[i]);
	}
	assert_false(there(dir, file(3)) || there(dir, file(13)));
	assert_true(there(dir, file(14)));
	empty(dir);
}

static void test_only_links_are_removed_not_what_they_lead_to(void **state)
{
	int dir = output_dir_open();

	(void)state;
	touch_closed(dir, "precious.txt");
	assert_int_equal(symlinkat("precious.txt", dir, file(0)), 0);
	assert_int_equal(mkfifoat(dir, file(1), 0600), 0);
	for (int i = 2; i < BACKGROUND_FILES + 2; i++)
		touch_closed(dir, file(i));
	close(dir);
	dir = output_dir_open();
	assert_true(there(dir, "precious.txt"));
	assert_false(there(dir, file(0)) || there(dir, file(1)));
	empty(dir);
}

static void test_a_link_in_its_place_is_not_followed(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command),
		"cd %s && rm -rf .sandstorm-mcp/background && mkdir victim && ln -s ../victim "
		".sandstorm-mcp/background",
		top);
	assert_int_equal(system(command), 0);
	assert_int_equal(output_dir_open(), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_made_when_first_needed),
		cmocka_unit_test(test_names_carry_time_and_number),
		cmocka_unit_test(test_the_oldest_go_first_and_other_files_stay),
		cmocka_unit_test(test_what_may_still_be_written_stays),
		cmocka_unit_test(test_only_links_are_removed_not_what_they_lead_to),
		cmocka_unit_test(test_a_link_in_its_place_is_not_followed),
	};

	return cmocka_run_group_tests(tests, setup, top_remove);
}
