/*
 * Ranges of lines: against a plain count over the whole text, fed whole and in pieces of every
 * size.
 */
#include "unit.h"

#include <string.h>

#include "host/line_range.h"

enum { TEXT_MAX = 64, PLENTY = 1000 };

/* What was shown of a text, put together again. */
struct outcome {
	char shown[TEXT_MAX];
	size_t n;
	struct line_range r;
};

static void feed(struct outcome *o, struct slice text, size_t piece, int64_t from, int64_t count,
	size_t room)
{
	struct slice part;

	o->n = 0;
	range_start(&o->r, from, count, room);
	while (text.n > 0) {
		part = range_feed(&o->r, slice_head(text, piece));
		memcpy(o->shown + o->n, part.p, part.n);
		o->n += part.n;
		text = slice_from(text, text.n < piece ? text.n : piece);
	}
}

/* The same by the definition: a line is what ends with LF, or what is left. */
static struct slice lines_of(struct slice text, int64_t from, int64_t count, int64_t *total)
{
	struct slice want = { text.p, 0 };
	int64_t line = 1;
	size_t i;

	for (i = 0; i < text.n; i++) {
		if (line == from && want.n == 0)
			want.p = text.p + i;
		if (line >= from && line - from < count)
			want.n++;
		line += text.p[i] == '\n';
	}
	*total = line - (i == 0 || text.p[i - 1] == '\n');
	return want;
}

static void check(struct slice text, size_t piece, int64_t from, int64_t count)
{
	struct outcome o;
	int64_t total;
	struct slice want = lines_of(text, from, count, &total);

	feed(&o, text, piece, from, count, PLENTY);
	assert_same(((struct slice){ o.shown, o.n }), want);
	assert_int_equal(range_lines(&o.r), total);
	assert_false(o.r.cut);
	assert_int_equal(o.r.first, want.n > 0 ? from : 0);
	if (want.n > 0)
		assert_int_equal(o.r.last, total - from < count ? total : from + count - 1);
}

/* Every text of up to six bytes from LF and one letter, in pieces of every size. */
static void test_every_short_text_is_counted_right(void **state)
{
	char text[6];

	(void)state;
	for (size_t n = 0; n <= sizeof(text); n++)
		for (unsigned bits = 0; bits < 1u << n; bits++) {
			for (size_t i = 0; i < n; i++)
				text[i] = bits >> i & 1 ? '\n' : 'x';
			for (size_t piece = 1; piece <= n + 1; piece++)
				for (int64_t from = 1; from <= 8; from++)
					for (int64_t count = 0; count <= 8; count++)
						check((struct slice){ text, n }, piece, from,
							count);
		}
}

static void test_all_lines_are_a_range(void **state)
{
	(void)state;
	check(LIT("a\nb\nc"), 2, 1, INT64_MAX);
	check(LIT("a\nb\nc"), 2, 3, INT64_MAX);
	check(LIT("a\nb\nc"), 2, INT64_MAX, INT64_MAX);
	check(LIT("a\nb\nc"), 2, INT64_MAX, 0);
}

static void cuts(struct slice text, int64_t from, size_t room, const char *want, int64_t last,
	int64_t resume)
{
	struct outcome o;

	for (size_t piece = 1; piece <= text.n; piece++) {
		feed(&o, text, piece, from, INT64_MAX, room);
		assert_same(((struct slice){ o.shown, o.n }), slice_of(want));
		assert_true(o.r.cut && range_done(&o.r));
		assert_int_equal(o.r.last, last);
		assert_int_equal(o.r.resume, resume);
		assert_int_equal(range_lines(&o.r), 4);
	}
}

static void test_a_cut_says_where_to_go_on(void **state)
{
	const struct slice text = LIT("one\ntwo\nthree\nfour\n");

	(void)state;
	cuts(text, 1, 4, "one\n", 1, 2);
	cuts(text, 1, 5, "one\nt", 2, 2);
	cuts(text, 1, 7, "one\ntwo", 2, 2);
	cuts(text, 1, 8, "one\ntwo\n", 2, 3);
	cuts(text, 2, 8, "two\nthre", 3, 3);
	cuts(text, 3, 2, "th", 3, 4); /* a line longer than the room: on with the next */
	cuts(text, 1, 1, "o", 1, 2);
}

static void test_what_fits_exactly_is_not_cut(void **state)
{
	const struct slice text = LIT("one\ntwo\n");
	struct outcome o;

	(void)state;
	for (size_t piece = 1; piece <= text.n; piece++) {
		feed(&o, text, piece, 1, INT64_MAX, text.n);
		assert_int_equal(o.n, text.n);
		assert_false(o.r.cut);
		feed(&o, text, piece, 1, 1, 4);
		assert_int_equal(o.n, 4);
		assert_false(o.r.cut);
	}
}

static void test_a_cut_does_not_split_a_character(void **state)
{
	const struct slice text = LIT("\xe2\x82\xac\xf0\x9f\x98\x80x\xff\x80\x80\x80\x80\x80");
	static const size_t ends[] = { 0, 3, 3, 3, 7, 7, 7, 7, 8, 12 };
	struct outcome o;

	(void)state;
	for (size_t piece = 1; piece <= text.n; piece++)
		for (size_t room = 1; room < COUNT(ends); room++) {
			feed(&o, text, piece, 1, INT64_MAX, room);
			assert_true(o.r.cut);
			assert_int_equal(o.n, ends[room]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_short_text_is_counted_right),
		cmocka_unit_test(test_all_lines_are_a_range),
		cmocka_unit_test(test_a_cut_says_where_to_go_on),
		cmocka_unit_test(test_what_fits_exactly_is_not_cut),
		cmocka_unit_test(test_a_cut_does_not_split_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
