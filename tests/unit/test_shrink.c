/*
 * A reply while it arrives: the same JSON without blanks, with long strings cut, however it is cut
 * into parts; and what of a reply is refused.
 */
#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "json/json_check.h"
#include "proxy/shrink.h"

enum { KEEP = 64, MOST = 256 * KIB };

static struct buf out;
static struct shrink shrink;

static int set_up(void **state)
{
	(void)state;
	out = unit_buf(MOST + shrink_room(KEEP));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_release(&out);
	return 0;
}

/* Feeds in pieces of that size; 0 or the error. */
static int feed(struct slice in, size_t piece, size_t keep, size_t most)
{
	int r = 0;

	buf_reset(&out, true);
	shrink_init(&shrink, &out, keep, most);
	while (in.n > 0 && r == 0) {
		struct slice part = slice_head(in, piece);

		r = shrink_feed(&shrink, part);
		in = slice_from(in, part.n);
	}
	return r < 0 ? r : shrink_end(&shrink);
}

/* in becomes want, in one piece, byte by byte, and in sevens. */
static void becomes_keep(struct slice in, struct slice want, size_t keep)
{
	static const size_t pieces[] = { SIZE_MAX, 1, 7, 64 };

	for (size_t i = 0; i < COUNT(pieces); i++) {
		assert_int_equal(feed(in, pieces[i], keep, MOST), 0);
		assert_same(buf_all(&out), want);
	}
}

#define becomes(in, want) becomes_keep(LIT(in), LIT(want), KEEP)
#define same(in) becomes(in, in)

static void fails_in(struct slice in, int err)
{
	assert_int_equal(feed(in, SIZE_MAX, KEEP, MOST), err);
	assert_int_equal(feed(in, 1, KEEP, MOST), err);
}

#define fails(in, err) fails_in(LIT(in), err)

#define A8 "aaaaaaaa"
#define A32 A8 A8 A8 A8
#define B32 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NOTE(n) "\\n[... " #n " bytes omitted ...]\\n"

/* --- what is only copied --- */

static void test_blanks_between_tokens_go_and_those_in_strings_stay(void **state)
{
	(void)state;
	becomes(" { \"a b\" :\t[ 1 ,\r\n 2 , \" x \" ] , \"c\" : { } } \n",
		"{\"a b\":[1,2,\" x \"],\"c\":{}}");
	becomes(" 12 ", "12");
	becomes("[true , false,null ]", "[true,false,null]");
}

static void test_numbers_and_escapes_stay_as_they_came(void **state)
{
	(void)state;
	same("[18446744073709551616,1.50,-0,1E+2,0.10e-7]");
	same("{\"\\u0061\":\"\\u0000\\ud800\\/\\\"\\u00e9\\ud83d\\ude00\"}");
	same("\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
}

static void test_ill_formed_utf8_becomes_the_replacement_character(void **state)
{
	(void)state;
	becomes("\"\xff\"", "\"\xef\xbf\xbd\"");
	becomes("\"a\xe2\x82x\xc3\"", "\"a\xef\xbf\xbdx\xef\xbf\xbd\"");
	becomes("\"\xed\xa0\x80\xf0\x9f\x98\"",
		"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	becomes("\"\xf0\x9f\x98\x80\xf0\x9f\xc3\xa9\"", "\"\xf0\x9f\x98\x80\xef\xbf\xbd\xc3\xa9\"");
}

static void test_a_sequence_that_the_reply_ends_in_is_not_lost(void **state)
{
	(void)state;
	fails("\"a\xe2\x82", -EBADMSG);
	fails("1\xe2\x82", -EBADMSG);
}

/* --- what is cut --- */

static void test_a_string_of_just_the_bound_is_whole(void **state)
{
	(void)state;
	same("{\"out\":\"" A32 B32 "\"}");
}

static void test_a_longer_string_keeps_its_first_and_last_half(void **state)
{
	(void)state;
	becomes("{\"out\":\"" A32 "x" B32 "\",\"code\":0}",
		"{\"out\":\"" A32 NOTE(1) B32 "\",\"code\":0,\"truncated\":{\"out\":65}}");
	becomes("{\"out\":\"" A32 A32 A32 A32 A32 "xyz" B32 B32 "\"}",
		"{\"out\":\"" A32 NOTE(163) B32 "\",\"truncated\":{\"out\":227}}");
}

static void test_a_very_long_string_is_cut_alike(void **state)
{
	static char text[100 * KIB];
	struct buf b;

	(void)state;
	buf_over(&b, text, sizeof(text));
	buf_puts(&b, "{\"out\":\"" A32);
	for (int i = 0; i < 2000; i++)
		buf_puts(&b, "x\\ny\\\\\\u00e9\xc3\xa9");
	buf_puts(&b, B32 "\"}");
	becomes_keep(buf_all(&b),
		LIT("{\"out\":\"" A32 NOTE(16000) B32 "\",\"truncated\":{\"out\":16064}}"), KEEP);
}

static void test_what_is_cut_is_told_in_the_object_it_stands_in(void **state)
{
	(void)state;
	becomes("[{\"a\":\"" A32 "xx" B32 "\",\"b\":{\"c\":\"" A32 "x" B32 "\"},\"d\":\"" B32
		"y" A32 "\"},{\"e\":1}]",
		"[{\"a\":\"" A32 NOTE(2) B32 "\",\"b\":{\"c\":\"" A32 NOTE(1) B32
		"\",\"truncated\":{\"c\":65}},\"d\":\"" B32 NOTE(1) A32
		"\",\"truncated\":{\"a\":66,\"d\":65}},{\"e\":1}]");
}

static void test_a_string_that_is_no_member_is_cut_without_being_told(void **state)
{
	(void)state;
	becomes("{\"a\":[\"" A32 "x" B32 "\"]}", "{\"a\":[\"" A32 NOTE(1) B32 "\"]}");
	becomes("\"" A32 "x" B32 "\"", "\"" A32 NOTE(1) B32 "\"");
}

static void test_names_of_members_are_never_cut(void **state)
{
	(void)state;
	same("{\"" A32 A32 A32 "\":1}");
	becomes("{\"" A32 A32 A32 "\":\"" A32 "x" B32 "\"}",
		"{\"" A32 A32 A32 "\":\"" A32 NOTE(1) B32 "\",\"truncated\":{\"" A32 A32 A32
							  "\":65}}");
}

static void test_a_member_truncated_of_the_masters_own_stays_the_only_one(void **state)
{
	(void)state;
	becomes("{\"truncated\":true,\"a\":\"" A32 "x" B32 "\"}",
		"{\"truncated\":true,\"a\":\"" A32 NOTE(1) B32 "\"}");
	becomes("{\"b\":{\"truncated\":1},\"a\":\"" A32 "x" B32 "\"}",
		"{\"b\":{\"truncated\":1},\"a\":\"" A32 NOTE(1) B32 "\",\"truncated\":{\"a\":65}}");
}

static void test_characters_and_escapes_are_not_cut_in_two(void **state)
{
	(void)state;
	/* 31 bytes fit; the next character has two or four */
	becomes("\"" A8 A8 A8 "aaaaaaa"
		"\xc3\xa9"
		"xx"
		"\xc3\xa9" A8 A8 A8 "bbbbbbb\"",
		"\"" A8 A8 A8 "aaaaaaa" NOTE(6) A8 A8 A8 "bbbbbbb\"");
	becomes("\"" A8 A8 A8 "aaaaaaa"
		"\\ud83d\\ude00" A32 "\\ud83d\\ude00" A8 A8 A8 "bbbbbbb\"",
		"\"" A8 A8 A8 "aaaaaaa" NOTE(40) A8 A8 A8 "bbbbbbb\"");
	becomes("\"" A32 "\\\\\\\\\\\\" A8 A8 A8 "bbbb\\n\\\"\\\\\\t\"",
		"\"" A32 NOTE(3) A8 A8 A8 "bbbb\\n\\\"\\\\\\t\"");
}

#define NULS8 "\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000"

static void test_an_escape_counts_as_what_it_stands_for(void **state)
{
	(void)state;
	same("{\"a\":\"" NULS8 NULS8 NULS8 NULS8 NULS8 NULS8 NULS8 NULS8 "\"}");
	becomes("{\"a\":\"" NULS8 NULS8 NULS8 NULS8 "xyz" NULS8 NULS8 NULS8 NULS8 "\"}",
		"{\"a\":\"" NULS8 NULS8 NULS8 NULS8 NOTE(3) NULS8 NULS8 NULS8 NULS8
		"\",\"truncated\":{\"a\":67}}");
}

static void test_of_many_cuts_in_one_object_the_first_are_told(void **state)
{
	char in[8 * KIB], want[8 * KIB];
	struct buf a, b;

	(void)state;
	buf_over(&a, in, sizeof(in));
	buf_over(&b, want, sizeof(want));
	for (int i = 0; i < SHRINK_CUTS + 2; i++) {
		buf_printf(&a, "%s\"%d\":\"" A32 "x" B32 "\"", i ? "," : "{", i);
		buf_printf(&b, "%s\"%d\":\"" A32 NOTE(1) B32 "\"", i ? "," : "{", i);
	}
	buf_puts(&a, "}");
	for (int i = 0; i < SHRINK_CUTS; i++)
		buf_printf(&b, "%s\"%d\":65", i ? "," : ",\"truncated\":{", i);
	buf_puts(&b, "}}");
	becomes_keep(buf_all(&a), buf_all(&b), KEEP);
}

/* --- what stands in a reply --- */

static void test_the_kind_of_the_root_is_known(void **state)
{
	(void)state;
	becomes(" {} ", "{}");
	assert_int_equal(shrink.root, '{');
	becomes("[{}]", "[{}]");
	assert_int_equal(shrink.root, '[');
	becomes("\"{\"", "\"{\"");
	assert_int_equal(shrink.root, '"');
	becomes("-1", "-1");
	assert_int_equal(shrink.root, '-');
}

static struct slice found_array(void)
{
	return (struct slice){ out.p + shrink.array_from, shrink.array_to - shrink.array_from };
}

static void test_the_arrays_among_the_members_of_the_root_are_found(void **state)
{
	(void)state;
	becomes("{\"next\": null, \"items\": [ [1], {\"a\": [2]} ], \"n\": {\"b\": []}}",
		"{\"next\":null,\"items\":[[1],{\"a\":[2]}],\"n\":{\"b\":[]}}");
	assert_int_equal(shrink.arrays, 1);
	assert_slice(found_array(), "[[1],{\"a\":[2]}]");
	same("{\"a\":[],\"b\":[]}");
	assert_int_equal(shrink.arrays, 2);
	same("[[],[]]");
	assert_int_equal(shrink.arrays, 0);
}

/* --- what is refused --- */

static void test_what_is_no_json_is_refused(void **state)
{
	(void)state;
	fails("", -EBADMSG);
	fails("<html><body>502</body></html>", -EBADMSG);
	fails("{\"a\":1", -EBADMSG);
	fails("{\"a\":1}}", -EBADMSG);
	fails("{\"a\":\"x\ny\"}", -EBADMSG);
	fails("[1 2]", -EBADMSG);
}

static void test_what_is_nested_too_deeply_is_refused(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 2];

	(void)state;
	memset(text, '[', sizeof(text));
	fails_in((struct slice){ text, sizeof(text) }, -ELOOP);
}

static void test_what_is_over_the_bound_is_refused(void **state)
{
	static char text[4 * KIB];
	struct buf b;

	(void)state;
	buf_over(&b, text, sizeof(text));
	buf_puts(&b, "[0");
	for (int i = 0; i < 500; i++)
		buf_puts(&b, ",1");
	buf_puts(&b, "]");
	assert_int_equal(feed(buf_all(&b), 16, KEEP, b.len), 0);
	assert_int_equal(feed(buf_all(&b), 16, KEEP, b.len - 1), -E2BIG);
	assert_int_equal(feed(buf_all(&b), SIZE_MAX, KEEP, 100), -E2BIG);
}

static void test_the_text_in_the_making_never_passes_its_room(void **state)
{
	static char text[64 * KIB];
	int r = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	buf_reset(&out, true);
	shrink_init(&shrink, &out, KEEP, 2 * KEEP + KIB);
	assert_int_equal(shrink_feed(&shrink, LIT("{\"out\":\"")), 0);
	for (int i = 0; i < 64 && r == 0; i++) {
		r = shrink_feed(&shrink, (struct slice){ text, sizeof(text) });
		assert_true(out.len <= 9 * KEEP + 64);
	}
	assert_int_equal(r, 0);
	assert_int_equal(shrink_feed(&shrink, LIT("\"}")), 0);
	assert_int_equal(shrink_end(&shrink), 0);
	assert_true(out.len < 2 * KEEP + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blanks_between_tokens_go_and_those_in_strings_stay),
		cmocka_unit_test(test_numbers_and_escapes_stay_as_they_came),
		cmocka_unit_test(test_ill_formed_utf8_becomes_the_replacement_character),
		cmocka_unit_test(test_a_sequence_that_the_reply_ends_in_is_not_lost),
		cmocka_unit_test(test_a_string_of_just_the_bound_is_whole),
		cmocka_unit_test(test_a_longer_string_keeps_its_first_and_last_half),
		cmocka_unit_test(test_a_very_long_string_is_cut_alike),
		cmocka_unit_test(test_what_is_cut_is_told_in_the_object_it_stands_in),
		cmocka_unit_test(test_a_string_that_is_no_member_is_cut_without_being_told),
		cmocka_unit_test(test_names_of_members_are_never_cut),
		cmocka_unit_test(test_a_member_truncated_of_the_masters_own_stays_the_only_one),
		cmocka_unit_test(test_characters_and_escapes_are_not_cut_in_two),
		cmocka_unit_test(test_an_escape_counts_as_what_it_stands_for),
		cmocka_unit_test(test_of_many_cuts_in_one_object_the_first_are_told),
		cmocka_unit_test(test_the_kind_of_the_root_is_known),
		cmocka_unit_test(test_the_arrays_among_the_members_of_the_root_are_found),
		cmocka_unit_test(test_what_is_no_json_is_refused),
		cmocka_unit_test(test_what_is_nested_too_deeply_is_refused),
		cmocka_unit_test(test_what_is_over_the_bound_is_refused),
		cmocka_unit_test(test_the_text_in_the_making_never_passes_its_room),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
