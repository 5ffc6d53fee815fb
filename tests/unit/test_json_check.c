#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "json/json_check.h"

/* What the checker says of a text and where it stopped. */
struct verdict {
	int result;
	size_t offset, tokens;
};

/*
 * Feeds s in pieces of `piece` bytes, each in memory of its own so that a byte read too many is
 * seen.
 */
static struct verdict judge(struct slice s, size_t piece)
{
	struct json_check c;
	struct verdict v = { 0, 0, 0 };
	size_t n;
	char *copy;

	json_check_init(&c);
	while (s.n > 0 && v.result == 0) {
		n = s.n < piece ? s.n : piece;
		copy = malloc(n);
		memcpy(copy, s.p, n);
		v.result = json_check_feed(&c, (struct slice){ copy, n });
		free(copy);
		s = slice_from(s, n);
	}
	if (v.result == 0)
		v.result = json_check_end(&c);
	v.offset = c.offset;
	v.tokens = c.tokens;
	return v;
}

/* The verdict, which must not depend on how the text was cut. */
static struct verdict check(struct slice s)
{
	struct verdict whole = judge(s, s.n), v;
	size_t piece;

	for (piece = 1; piece <= 9; piece++) {
		v = judge(s, piece);
		if (v.result != whole.result || v.offset != whole.offset ||
			v.tokens != whole.tokens)
			fail_msg("cut every %zu bytes: %.*s", piece, SLICE(s));
	}
	return whole;
}

static void assert_good(struct slice s)
{
	if (check(s).result != 0)
		fail_msg("refused at %zu: %.*s", check(s).offset, SLICE(s));
}

static void assert_bad(struct slice s)
{
	if (check(s).result != -EBADMSG)
		fail_msg("accepted: %.*s", SLICE(s));
}

#define GOOD(text) assert_good(LIT(text))
#define BAD(text) assert_bad(LIT(text))

static void every_kind_of_value_is_accepted(void **state)
{
	(void)state;
	GOOD("{}");
	GOOD("[]");
	GOOD("\"\"");
	GOOD("0");
	GOOD("true");
	GOOD("false");
	GOOD("null");
	GOOD(" \t\r\n[ ] \n");
	GOOD("{ \"a\" : [ 1 , { \"b\" : null } , \"c\" ] , \"d\" : { } }");
	GOOD("[[],[[]],{\"\":[]}]");
	GOOD("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	     "call\",\"params\":{\"name\":\"x\"}}");
}

static void every_form_of_number_is_accepted(void **state)
{
	(void)state;
	GOOD("-0");
	GOOD("10");
	GOOD("0.5");
	GOOD("-12.340");
	GOOD("1e5");
	GOOD("0E-07");
	GOOD("1.5e+300");
	GOOD("[0,1,2.0,3e1]");
	GOOD("123456789012345678901234567890123456789012345678901234567890");
}

static void malformed_numbers_are_refused(void **state)
{
	(void)state;
	BAD("-");
	BAD("+1");
	BAD("01");
	BAD("-01");
	BAD("[00]");
	BAD(".5");
	BAD("1.");
	BAD("[1.]");
	BAD("1e");
	BAD("1e+");
	BAD("[1e-]");
	BAD("1.e3");
	BAD("0x10");
	BAD("1e5.5");
	BAD("1.2.3");
	BAD("NaN");
	BAD("-Infinity");
	BAD("1 2");
}

static void what_jsmn_would_let_pass_is_refused(void **state)
{
	(void)state;
	BAD("{\"a\":1,}");
	BAD("[1,]");
	BAD("[,]");
	BAD("[1,,2]");
	BAD("[1 2]");
	BAD("[\"a\":1]");
	BAD("[\"a\"\"b\"]");
	BAD("{:}");
	BAD("{,}");
	BAD("{\"a\"}");
	BAD("{\"a\" \"b\"}");
	BAD("{\"a\":1:2}");
	BAD("{\"a\":\"b\" \"c\":1}");
	BAD("{1:2}");
	BAD("{a:1}");
	BAD("{\"a\":}");
	BAD("{\"a\" 1}");
	BAD("[tru]");
	BAD("[nulll]");
	BAD("True");
}

static void brackets_must_match_and_close(void **state)
{
	(void)state;
	BAD("[");
	BAD("{");
	BAD("]");
	BAD("}");
	BAD("[}");
	BAD("{]");
	BAD("[[]");
	BAD("[{\"a\":[}]");
	BAD("[]]");
	BAD("{}}");
}

static void one_text_is_one_value(void **state)
{
	(void)state;
	BAD("");
	BAD(" \n");
	BAD("{}{}");
	BAD("1,2");
	BAD("[] x");
	BAD("null null");
	BAD("\xef\xbb\xbf{}");
	BAD("// comment\n{}");
}

static void every_escape_is_accepted_and_no_other(void **state)
{
	(void)state;
	GOOD("\"\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0041 \\uD83D\\uDE00 \\u0000 \\uabCD\"");
	BAD("\"\\a\"");
	BAD("\"\\x41\"");
	BAD("\"\\'\"");
	BAD("\"\\u12\"");
	BAD("\"\\u123g\"");
	BAD("\"\\U00000041\"");
	BAD("\"\\");
	BAD("\"\\\"");
	BAD("\"\\u004");
}

static void lone_surrogates_in_escapes_are_left_to_the_reader(void **state)
{
	(void)state;
	GOOD("\"\\ud800\"");
	GOOD("\"\\udc00\\ud800\"");
	GOOD("{\"\\udfff\":\"\\ud800x\"}");
}

static void no_raw_control_byte_stands_in_a_string(void **state)
{
	char text[] = "\"x\"";
	int b;

	(void)state;
	for (b = 0; b < 0x20; b++) {
		text[1] = (char)b;
		assert_bad((struct slice){ text, 3 });
	}
	GOOD("\"\x7f\"");
	BAD("\"a line\nbreak\"");
	BAD("\"a string of more than eight\ttabs\"");
}

static void no_zero_byte_stands_anywhere(void **state)
{
	(void)state;
	BAD("\0");
	BAD("{}\0");
	BAD("[\0]");
	BAD("\"\0\"");
	BAD("[1\0]");
	BAD("{\"a\0\":1}");
}

static void well_formed_UTF8_is_accepted(void **state)
{
	(void)state;
	GOOD("\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf\"");
	GOOD("\"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\"");
	GOOD("{\"\u4f60\u597d\":\"gr\u00fc\u00dfe \U0001f600\"}");
}

static void ill_formed_UTF8_is_refused(void **state)
{
	(void)state;
	BAD("\"\x80\"");
	BAD("\"\xbf\"");
	BAD("\"\xc0\x80\"");
	BAD("\"\xc1\xbf\"");
	BAD("\"\xc3\"");
	BAD("\"\xc3\x28\"");
	BAD("\"\xe0\x80\x80\"");
	BAD("\"\xe2\x82\"");
	BAD("\"\xe2\x28\xa1\"");
	BAD("\"\xed\xa0\x80\"");
	BAD("\"\xf0\x80\x80\x80\"");
	BAD("\"\xf0\x9f\x98\"");
	BAD("\"\xf4\x90\x80\x80\"");
	BAD("\"\xf5\x80\x80\x80\"");
	BAD("\"\xff\"");
	BAD("\"long enough for the fast path \xe2\x82\"");
}

static struct slice nested(char *mem, int depth, bool objects)
{
	size_t n = 0;
	int i;

	for (i = 0; i < depth; i++) {
		memcpy(mem + n, objects ? "{\"a\":" : "[", objects ? 5 : 1);
		n += objects ? 5 : 1;
	}
	mem[n++] = '1';
	for (i = 0; i < depth; i++)
		mem[n++] = objects ? '}' : ']';
	return (struct slice){ mem, n };
}

static void nesting_is_allowed_to_the_limit_and_not_beyond(void **state)
{
	char mem[1024];

	(void)state;
	assert_good(nested(mem, JSON_DEPTH_MAX, false));
	assert_good(nested(mem, JSON_DEPTH_MAX, true));
	assert_int_equal(check(nested(mem, JSON_DEPTH_MAX + 1, false)).result, -E2BIG);
	assert_int_equal(check(nested(mem, JSON_DEPTH_MAX + 1, true)).result, -E2BIG);
	assert_int_equal(check(nested(mem, JSON_DEPTH_MAX + 1, false)).offset, JSON_DEPTH_MAX);
}

static void kinds_of_levels_are_kept_apart_at_full_depth(void **state)
{
	char mem[1024];
	size_t n = 0;
	int i;

	(void)state;
	for (i = 0; i < JSON_DEPTH_MAX / 2; i++, n += 6)
		memcpy(mem + n, "[{\"a\":", 6);
	mem[n++] = '0';
	for (i = 0; i < JSON_DEPTH_MAX / 2; i++, n += 2)
		memcpy(mem + n, "}]", 2);
	assert_good((struct slice){ mem, n });
	mem[n - 1] = '}';
	assert_bad((struct slice){ mem, n });
}

static void an_error_is_final_and_keeps_its_place(void **state)
{
	struct json_check c;

	(void)state;
	json_check_init(&c);
	assert_int_equal(json_check_feed(&c, LIT("[1,")), 0);
	assert_int_equal(json_check_feed(&c, LIT(" ,")), -EBADMSG);
	assert_int_equal(c.offset, 4);
	assert_int_equal(json_check_feed(&c, LIT("2]")), -EBADMSG);
	assert_int_equal(json_check_end(&c), -EBADMSG);
	assert_int_equal(c.offset, 4);
}

static void every_proper_beginning_is_fine_so_far(void **state)
{
	const struct slice s =
		LIT("{\"k\\n\u00fc\": [1, -2.5e+3, true, false, null, \"\\ud83d\\ude00\"]}");
	struct json_check c;
	size_t n;

	(void)state;
	for (n = 0; n < s.n; n++) {
		json_check_init(&c);
		assert_int_equal(json_check_feed(&c, (struct slice){ s.p, n }), 0);
		assert_int_equal(json_check_end(&c), -EBADMSG);
	}
}

static void keys_and_values_are_counted(void **state)
{
	(void)state;
	assert_int_equal(check(LIT("{}")).tokens, 1);
	assert_int_equal(check(LIT("-12.5e3")).tokens, 1);
	assert_int_equal(check(LIT("{\"a\":[1,true,{\"b\":null}],\"c\":\"\"}")).tokens, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_accepted),
		cmocka_unit_test(every_form_of_number_is_accepted),
		cmocka_unit_test(malformed_numbers_are_refused),
		cmocka_unit_test(what_jsmn_would_let_pass_is_refused),
		cmocka_unit_test(brackets_must_match_and_close),
		cmocka_unit_test(one_text_is_one_value),
		cmocka_unit_test(every_escape_is_accepted_and_no_other),
		cmocka_unit_test(lone_surrogates_in_escapes_are_left_to_the_reader),
		cmocka_unit_test(no_raw_control_byte_stands_in_a_string),
		cmocka_unit_test(no_zero_byte_stands_anywhere),
		cmocka_unit_test(well_formed_UTF8_is_accepted),
		cmocka_unit_test(ill_formed_UTF8_is_refused),
		cmocka_unit_test(nesting_is_allowed_to_the_limit_and_not_beyond),
		cmocka_unit_test(kinds_of_levels_are_kept_apart_at_full_depth),
		cmocka_unit_test(an_error_is_final_and_keeps_its_place),
		cmocka_unit_test(every_proper_beginning_is_fine_so_far),
		cmocka_unit_test(keys_and_values_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
