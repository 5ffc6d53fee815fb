/*
 * Output of commands: what is kept, what is counted, and that the size of the pieces it comes in
 * makes no difference.
 */
#include "unit.h"

#include "bounds.h"
#include "loop/capture.h"

static char joined[64 * KIB];

static struct slice join(const struct capture *c, uint64_t *omitted)
{
	struct slice parts[3];
	size_t n = 0;

	*omitted = capture_parts(c, parts);
	for (int i = 0; i < 3; i++) {
		memcpy(joined + n, parts[i].p, parts[i].n);
		n += parts[i].n;
	}
	return (struct slice){ joined, n };
}

static void feed(struct capture *c, struct slice s, size_t step)
{
	while (s.n > 0) {
		size_t n = s.n < step ? s.n : step;

		capture_put(c, (struct slice){ s.p, n });
		s = slice_from(s, n);
	}
}

/* The same with the tail in one piece, also when more comes after that. */
static void check_joined(struct capture *c, const char *kept, uint64_t left_out)
{
	struct slice parts[2], got;
	uint64_t omitted = capture_joined(c, parts);

	assert_int_equal(omitted, left_out);
	assert_int_equal(parts[0].n + parts[1].n, strlen(kept));
	assert_memory_equal(parts[0].p, kept, parts[0].n);
	assert_memory_equal(parts[1].p, kept + parts[0].n, parts[1].n);
	got = join(c, &omitted);
	assert_same(got, slice_of(kept));
}

/* Keeps `keep` bytes of text fed in every piece size and compares with what should stay. */
static void check(size_t keep, struct slice text, const char *kept, uint64_t left_out)
{
	for (size_t step = 1; step <= text.n + 1; step++) {
		struct capture c;
		uint64_t omitted;
		struct slice got;

		assert_int_equal(capture_open(&c, keep), 0);
		feed(&c, text, step);
		got = join(&c, &omitted);
		assert_int_equal(got.n, strlen(kept));
		assert_memory_equal(got.p, kept, got.n);
		assert_int_equal(omitted, left_out);
		assert_int_equal(c.total, text.n);
		check_joined(&c, kept, left_out);
		capture_close(&c);
	}
}

static void test_what_fits_is_kept_whole(void **state)
{
	(void)state;
	check(8, LIT(""), "", 0);
	check(8, LIT("abc"), "abc", 0);
	check(8, LIT("abcdefg"), "abcdefg", 0);
	check(8, LIT("abcdefgh"), "abcdefgh", 0);
}

static void test_a_joined_tail_goes_on_as_a_ring(void **state)
{
	struct capture c;
	struct slice parts[2];

	(void)state;
	assert_int_equal(capture_open(&c, 8), 0);
	feed(&c, LIT("abcdefghijk"), 3);
	capture_joined(&c, parts);
	feed(&c, LIT("lm"), 1);
	check_joined(&c, "abcdjklm", 5);
	capture_close(&c);
}

static void test_first_and_last_half_are_kept(void **state)
{
	(void)state;
	check(8, LIT("abcdefghi"), "abcdfghi", 1);
	check(8, LIT("abcdefghijk"), "abcdhijk", 3);
	check(8, LIT("abcdefghijkl"), "abcdijkl", 4);
	check(8, LIT("abcdefghijklm"), "abcdjklm", 5);
	check(8, LIT("abcdefghijklmnopqrstuvwxyz0123456789"), "abcd6789", 28);
}

static void test_an_odd_bound_gives_the_tail_the_extra_byte(void **state)
{
	(void)state;
	check(7, LIT("abcdefghijkl"), "abcijkl", 5);
	check(1, LIT("abc"), "c", 2);
	check(2, LIT("abc"), "ac", 1);
}

static void test_the_cut_never_splits_a_character(void **state)
{
	(void)state;
	/* Two-byte characters: the bound falls into the second and into the second last. */
	check(6, LIT("a\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9z"), "a\xc3\xa9\xc3\xa9z", 4);
	check(8,
		LIT("ab\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		    "z"),
		"ab\xe2\x82\xacz", 9);
	check(8, LIT("\xf0\x9f\x8e\x89\xf0\x9f\x8e\x89\xf0\x9f\x8e\x89"),
		"\xf0\x9f\x8e\x89\xf0\x9f\x8e\x89", 4);
	check(6, LIT("\xf0\x9f\x8e\x89\xf0\x9f\x8e\x89"), "", 8);
}

static void test_bytes_that_are_no_text_stay_as_they_are(void **state)
{
	(void)state;
	check(4, LIT("\xff\xfe\xfd\xfc\xfb"), "\xff\xfe\xfc\xfb", 1);
}

static void test_nul_bytes_count_like_others(void **state)
{
	struct capture c;
	uint64_t omitted;
	struct slice got;

	(void)state;
	assert_int_equal(capture_open(&c, 6), 0);
	capture_put(&c, LIT("a\0b\0c\0d\0"));
	got = join(&c, &omitted);
	assert_int_equal(got.n, 6);
	assert_memory_equal(got.p, "a\0b\0d\0", 6);
	assert_int_equal(omitted, 2);
	capture_close(&c);
}

/* The reference: everything in one array, cut afterwards. */
static void test_many_sizes_agree_with_a_plain_cut(void **state)
{
	static char text[5000];
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('!' + i % 90);
	for (int round = 0; round < 300; round++) {
		size_t keep, total, step, half, want;
		struct capture c;
		uint64_t omitted;
		struct slice got;

		seed = seed * 1103515245u + 12345u;
		keep = 1 + (seed >> 8) % 600;
		total = (seed >> 4) % sizeof(text);
		step = 1 + (seed >> 12) % 900;
		half = keep / 2;
		want = total < keep ? total : keep;
		assert_int_equal(capture_open(&c, keep), 0);
		feed(&c, (struct slice){ text, total }, step);
		got = join(&c, &omitted);
		assert_int_equal(got.n, want);
		assert_int_equal(omitted, total - want);
		if (total > keep) {
			assert_memory_equal(got.p, text, half);
			assert_memory_equal(
				got.p + half, text + total - (keep - half), keep - half);
		} else {
			assert_memory_equal(got.p, text, total);
		}
		capture_close(&c);
	}
}

static void test_an_exhausted_budget_keeps_less_and_counts_right(void **state)
{
	static char text[100 * KIB];
	struct capture c;
	uint64_t omitted;
	struct slice got;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	mem_set_budget(mem_opened());
	assert_int_equal(capture_open(&c, 1 * MIB), 0);
	feed(&c, (struct slice){ text, sizeof(text) }, 1000);
	got = join(&c, &omitted);
	assert_true(got.n > 0 && got.n < sizeof(text));
	assert_int_equal(got.n, c.b.cap);
	assert_int_equal(omitted, sizeof(text) - got.n);
	assert_memory_equal(got.p, text, got.n / 2);
	assert_memory_equal(
		got.p + got.n / 2, text + sizeof(text) - (got.n - got.n / 2), got.n - got.n / 2);
	capture_close(&c);
	mem_set_budget(MEM_BUDGET_MAX);
}

static void test_closing_gives_the_memory_back(void **state)
{
	struct capture c;
	size_t before = mem_opened();

	(void)state;
	assert_int_equal(capture_open(&c, 1 * MIB), 0);
	for (int i = 0; i < 200; i++)
		capture_put(&c, (struct slice){ joined, sizeof(joined) });
	assert_true(mem_opened() > before);
	assert_true(mem_opened() <= before + 1 * MIB);
	capture_close(&c);
	assert_int_equal(mem_opened(), before);
	capture_close(&c);
	assert_int_equal(mem_opened(), before);
}

static void last(size_t keep, struct slice text, const char *line)
{
	for (size_t step = 1; step <= text.n + 1; step++) {
		struct capture c;
		struct slice got;

		assert_int_equal(capture_open(&c, keep), 0);
		feed(&c, text, step);
		got = capture_last_line(&c);
		assert_int_equal(got.n, strlen(line));
		assert_memory_equal(got.p, line, got.n);
		capture_close(&c);
	}
}

static void test_the_last_line_is_the_newest_that_is_not_blank(void **state)
{
	(void)state;
	last(64, LIT(""), "");
	last(64, LIT(" \n\n\t\n"), "");
	last(64, LIT("one"), "one");
	last(64, LIT("one\n"), "one");
	last(64, LIT("one\r\ntwo\r\n\r\n  \n"), "two");
	last(64, LIT("one\n  two three "), "two three");
	last(64, LIT("10%\r20%\r30%"), "30%");
}

static void test_the_last_line_is_found_across_the_ring(void **state)
{
	(void)state;
	last(16, LIT("aaaaaaaaaaaaaaaaaaaaaaaaa\nbcd"), "bcd");
	last(16, LIT("aaaaaaaaaaaaaaaaaaaaaaaaa\nbcd\n"), "bcd");
	/* longer than the tail: its end */
	last(16, LIT("aaaaaaaaaaaaaaaaaaaaaaaaa\n0123456789"), "23456789");
	last(16, LIT("\nxxxxxxxxxxxxxxxxxxxxxxxxxx\n       \n"), "");
}

static void test_a_long_last_line_is_cut_between_characters(void **state)
{
	static char text[602], want[PROGRESS_TEXT_MAX + 1];
	size_t kept = PROGRESS_TEXT_MAX / 3 * 3;

	(void)state;
	for (int i = 0; i < 200; i++)
		memcpy(text + 1 + 3 * i, "\xe2\x82\xac", 3);
	text[0] = 'x';
	memcpy(want, text + 601 - kept, kept);
	last(4096, (struct slice){ text, 601 }, want);
}

static void test_what_a_terminal_would_obey_is_left_out_of_the_last_line(void **state)
{
	(void)state;
	last(64, LIT("\x1b[1;31mred\x1b[0m and\x1b[K plain"), "red and plain");
	last(64, LIT("\x1b[2K\x1b[1Gstep 3\a\b\x7f"), "step 3");
	last(64,
		LIT("a\tb\0c\x1b"
		    "7d"),
		"a\tbcd");
	last(64, LIT("cut \x1b[3"), "cut");
	last(64, LIT("cut \x1b"), "cut");
}

static bool was_cut(size_t keep, struct slice text)
{
	struct capture c;
	bool cut;

	assert_int_equal(capture_open(&c, keep), 0);
	feed(&c, text, text.n);
	capture_last_line(&c);
	cut = c.line_cut;
	capture_close(&c);
	return cut;
}

/* Whoever looks for secrets in it has to know. */
static void test_it_is_known_whether_the_last_line_was_cut(void **state)
{
	static char text[PROGRESS_TEXT_MAX + 2];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_false(was_cut(4096, (struct slice){ text, PROGRESS_TEXT_MAX }));
	assert_true(was_cut(4096, (struct slice){ text, PROGRESS_TEXT_MAX + 1 }));
	text[1] = '\n';
	assert_false(was_cut(4096, (struct slice){ text, PROGRESS_TEXT_MAX + 2 }));
	text[1] =
		'\xa9'; /* the second byte of a character: what is left is shorter than the most */
	text[2] = '\xa9';
	assert_true(was_cut(4096, (struct slice){ text, PROGRESS_TEXT_MAX + 2 }));
	assert_true(was_cut(16, LIT("aaaaaaaaaaaaaaaaaaaaaaaaa\n0123456789")));
	assert_false(was_cut(16, LIT("aaaaaaaaaaaaaaaaaaaaaaaaa\nbcd\n")));
	assert_false(was_cut(16, LIT("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_is_kept_whole),
		cmocka_unit_test(test_a_joined_tail_goes_on_as_a_ring),
		cmocka_unit_test(test_first_and_last_half_are_kept),
		cmocka_unit_test(test_an_odd_bound_gives_the_tail_the_extra_byte),
		cmocka_unit_test(test_the_cut_never_splits_a_character),
		cmocka_unit_test(test_bytes_that_are_no_text_stay_as_they_are),
		cmocka_unit_test(test_nul_bytes_count_like_others),
		cmocka_unit_test(test_many_sizes_agree_with_a_plain_cut),
		cmocka_unit_test(test_an_exhausted_budget_keeps_less_and_counts_right),
		cmocka_unit_test(test_closing_gives_the_memory_back),
		cmocka_unit_test(test_the_last_line_is_the_newest_that_is_not_blank),
		cmocka_unit_test(test_the_last_line_is_found_across_the_ring),
		cmocka_unit_test(test_a_long_last_line_is_cut_between_characters),
		cmocka_unit_test(test_what_a_terminal_would_obey_is_left_out_of_the_last_line),
		cmocka_unit_test(test_it_is_known_whether_the_last_line_was_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
