/*
 * The bounded output file: what it holds at any time, what is left out, and where the bytes go that
 * it cannot take.
 */
#include "unit.h"
#include "top_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/str.h"
#include "bounds.h"
#include "host/output.h"

enum { MAX = 4 * KIB };

static char text[256 * KIB];
static int dir;
static struct output o;

static int setup(void **state)
{
	signal(SIGXFSZ, SIG_IGN);
	if (top_make(state))
		return -1;
	dir = open(top, O_RDONLY | O_DIRECTORY);
	return dir < 0;
}

static int teardown(void **state)
{
	close(dir);
	return top_remove(state);
}

/* Its name is that of the test. */
static void opened(const char *name, int64_t max)
{
	assert_int_equal(output_open(&o, dir, name, LIT("make all"), max), 0);
	assert_true(o.fd >= 0 && o.err == 0 && o.total == 0);
}

/* The whole file, and the part of it that is output. */
static struct slice file_now(void)
{
	ssize_t n = pread(o.fd, text, sizeof(text), 0);

	assert_true(n >= 0);
	return (struct slice){ text, (size_t)n };
}

static struct slice output_now(void)
{
	struct slice all = file_now();
	static const char command[] = "\n$ make all\n";
	const char *at = memmem(all.p, all.n, command, sizeof(command) - 1);

	assert_non_null(at);
	return slice_from(all, (size_t)(at - all.p) + sizeof(command) - 1);
}

static void test_it_holds_state_command_output_and_last_line(void **state)
{
	struct slice all;

	(void)state;
	opened("plain", MAX);
	output_put(&o, LIT("one\ntw"));
	output_put(&o, LIT("o\nhalf"));
	assert_slice(output_now(), "one\ntwo\nhalf");
	output_state(&o, LIT("[running]"));
	assert_true(str_starts(file_now(), "[running]   "));
	output_end(&o, LIT("[exit code 0]\n"));
	output_state(&o, LIT("[done]"));
	assert_slice(output_now(), "one\ntwo\nhalf\n[exit code 0]\n");
	all = file_now();
	assert_int_equal((const char *)memchr(all.p, '\n', all.n) - all.p, OUTPUT_STATE_LEN - 1);
	assert_true(str_starts(all, "[done]   "));
	assert_int_equal(o.total, 12);
	output_drop(&o);
	assert_int_equal(o.fd, -1);
}

static void test_a_state_longer_than_its_line_is_cut(void **state)
{
	static char longer[300];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	opened("state", MAX);
	output_state(&o, (struct slice){ longer, sizeof(longer) });
	assert_slice(output_now(), "");
	output_drop(&o);
}

static void test_of_a_long_command_its_beginning_is_shown(void **state)
{
	static char longer[600];

	(void)state;
	for (size_t i = 0; i < sizeof(longer); i += 3)
		memcpy(longer + i, "\u20ac", 3);
	assert_int_equal(
		output_open(&o, dir, "long", (struct slice){ longer, sizeof(longer) }, MAX), 0);
	assert_int_equal(file_now().n, OUTPUT_STATE_LEN + 2 + 198 + 5);
	output_drop(&o);
	assert_int_equal(output_open(&o, dir, "lines", LIT("first\nsecond"), MAX), 0);
	assert_slice(slice_from(file_now(), OUTPUT_STATE_LEN), "$ first ...\n");
	output_drop(&o);
}

/* ---- the bound ---- */

/* The numbers at the start of the lines, each of `width` bytes: how many there are, the last. */
static int count_lines(struct slice s, int *first_gap, int *last)
{
	int n = 0, expect = 0;

	*first_gap = -1;
	while (s.n > 0) {
		struct slice line = str_split(&s, '\n');
		int64_t v;

		if (line.n == 0 || line.p[0] == '[')
			continue;
		assert_int_equal(line.n, 8);
		assert_int_equal(str_int(line, &v), 0);
		if (v != expect && *first_gap < 0)
			*first_gap = expect;
		else
			assert_int_equal(v, expect);
		expect = (int)v + 1;
		n++;
	}
	*last = expect - 1;
	return n;
}

static unsigned long long omitted_as_told(struct slice s)
{
	const char *at = memmem(s.p, s.n, "\n[... ", 6);

	assert_non_null(at);
	return strtoull(at + 6, NULL, 10);
}

static void fill(int lines, size_t at_once, int64_t max)
{
	static char all[9 * 20000];
	struct slice rest = { all, (size_t)lines * 9 };
	char number[16];

	for (int i = 0; i < lines; i++) {
		snprintf(number, sizeof(number), "%08d\n", i);
		memcpy(all + i * 9, number, 9);
	}
	while (rest.n > 0) {
		struct slice now = slice_head(rest, at_once);

		output_put(&o, now);
		rest = slice_from(rest, now.n);
		assert_true(file_now().n <= (size_t)max);
	}
}

static void bounded(const char *name, int lines, size_t at_once, int64_t max)
{
	int gap, last, n;

	opened(name, max);
	fill(lines, at_once, max);
	n = count_lines(output_now(), &gap, &last);
	assert_int_equal(last, lines - 1);
	assert_true(gap > 0 && n < lines);
	assert_int_equal(omitted_as_told(output_now()), 9 * (lines - n));
	assert_true(gap * 9 > max / 3);       /* the head */
	assert_true((n - gap) * 9 > max / 6); /* the tail */
	assert_int_equal(o.total, 9 * lines);
	output_end(&o, LIT("[end]\n"));
	assert_true(file_now().n <= (size_t)max);
	assert_slice(slice_from(file_now(), file_now().n - 6), "[end]\n");
	output_drop(&o);
}

static void test_a_full_file_loses_whole_lines_from_its_middle_and_says_how_much(void **state)
{
	(void)state;
	bounded("lined", 2000, 9, MAX);
	bounded("bytes", 1000, 1, MAX);
	bounded("parts", 5000, 1000, MAX);
	bounded("large", 20000, 64 * KIB, MAX);
	bounded("large-file", 20000, 4 * KIB, 64 * KIB);
}

static void test_up_to_the_bound_nothing_is_left_out(void **state)
{
	int gap, last;

	(void)state;
	opened("fits", MAX);
	fill(400, 100, MAX);
	assert_int_equal(count_lines(output_now(), &gap, &last), 400);
	assert_int_equal(gap, -1);
	output_drop(&o);
}

/* Every way to lie across the cut. */
static void test_without_newlines_no_character_is_split(void **state)
{
	static const char *const characters[] = { "\u00e9", "\u20ac", "\U0001f389" };
	char name[32];
	struct buf repaired = unit_buf(1 * MIB);

	(void)state;
	for (int shift = 0; shift < 5; shift++)
		for (size_t c = 0; c < COUNT(characters); c++) {
			snprintf(name, sizeof(name), "utf8-%d-%d", shift, (int)c);
			opened(name, MAX);
			output_put(&o, (struct slice){ "aaaaa", (size_t)shift });
			for (int i = 0; i < 5000; i++)
				output_put(&o, slice_of(characters[c]));
			assert_true(o.total > 2 * MAX);
			assert_int_equal(utf8_repair(&repaired, file_now()), 0);
			buf_reset(&repaired, false);
			output_drop(&o);
		}
	buf_release(&repaired);
}

/* ---- when it cannot be written ---- */

static void let_files_grow_to(rlim_t bytes)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
	l.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static struct slice kept_part(int which)
{
	struct slice parts[3];

	capture_parts(&o.kept, parts);
	return parts[which];
}

static void test_on_a_full_disk_the_rest_stays_in_memory(void **state)
{
	(void)state;
	opened("full", MAX);
	output_put(&o, LIT("early\n"));
	let_files_grow_to((rlim_t)file_now().n + 3);
	output_put(&o, LIT("later\n"));
	output_put(&o, LIT("last\n"));
	assert_int_equal(o.err, -EFBIG);
	assert_slice(output_now(), "early\nlat");
	assert_slice(kept_part(0), "er\nlast\n");
	output_state(&o, LIT("[full]"));
	assert_true(str_starts(file_now(), "[full] "));
	output_end(&o, LIT("[end]\n"));
	assert_int_equal(o.err, -EFBIG);
	output_close(&o);
	assert_slice(kept_part(0), "er\nlast\n");
	assert_int_equal(o.total, 17);
	output_drop(&o);
	let_files_grow_to(RLIM_INFINITY);
}

static void test_what_memory_kept_comes_to_the_file_when_there_is_room_at_the_end(void **state)
{
	(void)state;
	opened("again", MAX);
	output_put(&o, LIT("early\n"));
	let_files_grow_to((rlim_t)file_now().n + 3);
	output_put(&o, LIT("later\n"));
	let_files_grow_to(RLIM_INFINITY);
	output_put(&o, LIT("last"));
	assert_slice(kept_part(0), "er\nlast");
	output_end(&o, LIT("[end]\n"));
	assert_int_equal(o.err, 0);
	assert_slice(output_now(), "early\nlater\nlast\n[end]\n");
	output_drop(&o);
}

static void test_memory_is_bounded_and_its_gap_told_in_the_file(void **state)
{
	static char line[1000];
	struct slice out;

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	opened("gap", 64 * KIB);
	let_files_grow_to((rlim_t)file_now().n);
	for (int i = 0; i < 100; i++)
		output_put(&o, (struct slice){ line, sizeof(line) });
	assert_true(o.kept.b.len <= BACKGROUND_KEPT);
	let_files_grow_to(RLIM_INFINITY);
	output_end(&o, LIT("[end]\n"));
	out = output_now();
	assert_int_equal(omitted_as_told(out), 100000 - BACKGROUND_KEPT);
	assert_slice(slice_from(out, out.n - 8), "x\n[end]\n");
	output_drop(&o);
}

static void test_a_file_that_cannot_be_begun_is_not_left(void **state)
{
	(void)state;
	let_files_grow_to(50);
	assert_int_equal(output_open(&o, dir, "never", LIT("x"), MAX), -EFBIG);
	let_files_grow_to(RLIM_INFINITY);
	assert_int_equal(faccessat(dir, "never", F_OK, 0), -1);
	assert_int_equal(o.fd, -1);
	assert_int_equal(o.err, -EFBIG);
	output_put(&o, LIT("kept"));
	output_state(&o, LIT("nowhere"));
	output_end(&o, LIT("nothing"));
	assert_slice(kept_part(0), "kept");
	output_drop(&o);
}

static void test_a_name_that_is_taken_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("victim", dir, "link"), 0);
	assert_int_equal(output_open(&o, dir, "link", LIT("x"), MAX), -EEXIST);
	assert_int_equal(faccessat(dir, "victim", F_OK, 0), -1);
	output_drop(&o);
}

static void test_it_is_for_its_owner_alone_and_locked_while_it_may_grow(void **state)
{
	struct stat st;
	int other;

	(void)state;
	opened("mine", MAX);
	assert_int_equal(fstat(o.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	other = openat(dir, "mine", O_RDONLY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	output_close(&o);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	output_drop(&o);
}

/* A client may do anything to it. */
static void test_a_file_cut_short_by_others_does_no_harm(void **state)
{
	(void)state;
	opened("cut", MAX);
	fill(400, 9, MAX);
	assert_int_equal(ftruncate(o.fd, 10), 0);
	for (int i = 0; i < 400; i++)
		output_put(&o, LIT("more of it\n"));
	assert_true(file_now().n <= MAX);
	output_end(&o, LIT("[end]\n"));
	output_drop(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_holds_state_command_output_and_last_line),
		cmocka_unit_test(test_a_state_longer_than_its_line_is_cut),
		cmocka_unit_test(test_of_a_long_command_its_beginning_is_shown),
		cmocka_unit_test(
			test_a_full_file_loses_whole_lines_from_its_middle_and_says_how_much),
		cmocka_unit_test(test_up_to_the_bound_nothing_is_left_out),
		cmocka_unit_test(test_without_newlines_no_character_is_split),
		cmocka_unit_test(test_on_a_full_disk_the_rest_stays_in_memory),
		cmocka_unit_test(
			test_what_memory_kept_comes_to_the_file_when_there_is_room_at_the_end),
		cmocka_unit_test(test_memory_is_bounded_and_its_gap_told_in_the_file),
		cmocka_unit_test(test_a_file_that_cannot_be_begun_is_not_left),
		cmocka_unit_test(test_a_name_that_is_taken_is_left_alone),
		cmocka_unit_test(test_it_is_for_its_owner_alone_and_locked_while_it_may_grow),
		cmocka_unit_test(test_a_file_cut_short_by_others_does_no_harm),
	};

	mem_set_budget(MEM_BUDGET_MAX);
	return cmocka_run_group_tests(tests, setup, teardown);
}
