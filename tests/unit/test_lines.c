/*
 * Lines of stdio: what is a message, whatever the pieces it arrives in.
 */
#include "unit.h"

#include "front/lines.h"

enum { MAX = 8 };

static char text[4096];
static struct buf seen; /* each line in brackets, what was not a message by its name */

static void note(struct buf *line, enum line_event e)
{
	if (e == LINE_END)
		buf_printf(&seen, "[%.*s]", SLICE(buf_all(line)));
	if (e == LINE_BLANK)
		buf_puts(&seen, "blank ");
	if (e == LINE_LONG)
		buf_puts(&seen, "long ");
	if (e != LINE_MORE)
		buf_cut(line, 0);
}

/* Feeds input in pieces of at most step bytes, then its end. */
static struct slice lines_of(struct slice input, size_t step)
{
	char mem[1024];
	struct buf line;
	struct lines l;

	buf_over(&seen, text, sizeof(text));
	buf_over(&line, mem, sizeof(mem));
	lines_init(&l, MAX);
	while (input.n > 0) {
		struct slice piece = slice_head(input, step), part;

		input = slice_from(input, piece.n);
		while (piece.n > 0) {
			enum line_event e = lines_take(&l, &piece, &part);

			buf_slice(&line, part);
			assert_false(e == LINE_MORE && piece.n > 0);
			note(&line, e);
		}
	}
	note(&line, lines_finish(&l));
	return buf_all(&seen);
}

/* Whole, byte by byte, and in every size between. */
#define assert_lines(input, want) check_lines(LIT(input), LIT(want))

static void check_lines(struct slice input, struct slice want)
{
	for (size_t step = input.n + 1; step > 0; step--)
		assert_same(lines_of(input, step), want);
}

static void test_each_line_is_a_message(void **state)
{
	(void)state;
	assert_lines("{}\n[1,2]\n", "[{}][[1,2]]blank ");
	assert_lines("{}\n\n", "[{}]blank blank ");
}

static void test_the_last_line_needs_no_newline(void **state)
{
	(void)state;
	assert_lines("{}\n1", "[{}][1]");
	assert_lines("", "blank ");
}

static void test_cr_before_lf_stays_with_the_line_as_white_space(void **state)
{
	(void)state;
	assert_lines("{}\r\n{}\r", "[{}\r][{}\r]");
}

static void test_lines_of_blanks_are_no_messages_however_long(void **state)
{
	(void)state;
	assert_lines("\r\n \t\r\n{}\n", "blank blank [{}]blank ");
	assert_lines("               \n{}\n     ", "blank [{}]blank ");
}

static void test_blanks_inside_and_behind_a_line_belong_to_it(void **state)
{
	(void)state;
	assert_lines("{ \t }  \n", "[{ \t }  ]blank ");
}

static void test_a_line_of_the_most_bytes_is_taken_one_more_is_told(void **state)
{
	(void)state;
	assert_lines("12345678\n123456789\n1\n", "[12345678]long [1]blank ");
	assert_lines("1234567890123456789012345", "long ");
	assert_lines("1       9\n2", "long [2]");
}

static void test_nul_and_other_bytes_end_nothing(void **state)
{
	(void)state;
	assert_same(lines_of(LIT("a\0b\n\0\n"), 100), lines_of(LIT("a\0b\n\0\n"), 1));
	assert_lines("\x80\xff\n\v\n", "[\x80\xff][\v]blank ");
}

/* Nothing of a line that is too long is to be collected once that is known. */
static void test_a_long_line_costs_no_more_memory_than_the_most_bytes(void **state)
{
	struct slice in = LIT("1234567890\n"), part;
	struct lines l;

	(void)state;
	lines_init(&l, MAX);
	assert_int_equal(lines_take(&l, &in, &part), LINE_LONG);
	assert_int_equal(part.n, 0);
	in = LIT("12345");
	assert_int_equal(lines_take(&l, &in, &part), LINE_MORE);
	assert_slice(part, "12345");
	for (int i = 0; i < 10; i++) {
		in = LIT("67890");
		assert_int_equal(lines_take(&l, &in, &part), LINE_MORE);
		assert_int_equal(part.n, 0);
	}
}

static void test_blanks_before_anything_else_cost_no_memory(void **state)
{
	struct slice in = LIT(" \t \r"), part;
	struct lines l;

	(void)state;
	lines_init(&l, MAX);
	assert_int_equal(lines_take(&l, &in, &part), LINE_MORE);
	assert_int_equal(part.n, 0);
	in = LIT("  {}");
	assert_int_equal(lines_take(&l, &in, &part), LINE_MORE);
	assert_slice(part, "  {}");
}

static void test_the_length_of_an_endless_line_does_not_wrap_around(void **state)
{
	struct slice in, part;
	struct lines l;

	(void)state;
	lines_init(&l, MAX);
	l.len = SIZE_MAX - 1; /* as if so much had come */
	l.blank = false;
	in = LIT("1234");
	assert_int_equal(lines_take(&l, &in, &part), LINE_MORE);
	assert_int_equal(part.n, 0);
	in = LIT("\n");
	assert_int_equal(lines_take(&l, &in, &part), LINE_LONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_line_is_a_message),
		cmocka_unit_test(test_the_last_line_needs_no_newline),
		cmocka_unit_test(test_cr_before_lf_stays_with_the_line_as_white_space),
		cmocka_unit_test(test_lines_of_blanks_are_no_messages_however_long),
		cmocka_unit_test(test_blanks_inside_and_behind_a_line_belong_to_it),
		cmocka_unit_test(test_a_line_of_the_most_bytes_is_taken_one_more_is_told),
		cmocka_unit_test(test_nul_and_other_bytes_end_nothing),
		cmocka_unit_test(test_a_long_line_costs_no_more_memory_than_the_most_bytes),
		cmocka_unit_test(test_blanks_before_anything_else_cost_no_memory),
		cmocka_unit_test(test_the_length_of_an_endless_line_does_not_wrap_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
