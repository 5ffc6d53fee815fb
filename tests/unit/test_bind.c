/*
 * Arguments: which forms of a value are taken, and which are refused with their name and the rule.
 */
#include "peer.h"

#define ARGS(args) CALL("1", "show", args)
#define taken(args, text) asked(ARGS(args), OK("1", TEXT_RESULT(text)))
#define refused(args, rule)                                                                        \
	asked(ARGS(args), OK("1", FAIL_RESULT("Invalid arguments for show: " rule)))

#define picks_none(word)                                                                           \
	asked(CALL("1", "pick", "{\"colour\":" word "}"),                                          \
		OK("1", FAIL_RESULT("Invalid arguments for pick: colour: must be one of red, "     \
				    "green")))

/* What `show` says of arguments that are not given. */
#define NO_S "s0= "
#define NO_N "n0=0 "
#define NO_B "b0=0 "
#define NO_T "t0=0,"

static void test_what_is_not_given_is_empty(void **state)
{
	(void)state;
	taken("{}", NO_S NO_N NO_B NO_T);
	asked(MSG("\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"show\"}"),
		OK("1", TEXT_RESULT(NO_S NO_N NO_B NO_T)));
}

static void test_order_and_escapes_of_names_do_not_matter(void **state)
{
	(void)state;
	taken("{\"t\":1,\"\\u0073\":\"x\",\"b\":true,\"n\":2}", "s1=x n1=2 b1=1 t1=1000,1");
}

static void test_null_is_taken_where_the_schema_has_it_and_means_not_given(void **state)
{
	(void)state;
	taken("{\"s\":null,\"n\":null}", NO_S NO_N NO_B NO_T);
	refused("{\"b\":null}", "b: must be true or false");
	refused("{\"t\":null}", "t: must be a number of seconds");
	asked(CALL("1", "echo", "{\"text\":null}"),
		OK("1", FAIL_RESULT("Invalid arguments for echo: text: must be a string")));
}

static void test_a_required_argument_must_be_there(void **state)
{
	(void)state;
	asked(CALL("1", "echo", "{}"),
		OK("1", FAIL_RESULT("Invalid arguments for echo: text: required")));
}

static void test_an_unknown_argument_is_told_by_name(void **state)
{
	(void)state;
	refused("{\"bogus\":1}", "bogus: unknown argument");
	refused("{\"S\":\"x\"}", "S: unknown argument");
	refused("{\"s\":\"x\",\"\":1}", ": unknown argument");
	refused("{\"a\\nb\":1}", "a\\nb: unknown argument");
	refused("{\"\\udc00\":1}", "\\\"\\\\udc00\\\": unknown argument");
	asked(CALL("1", "fail", "{\"x\":1}"),
		OK("1", FAIL_RESULT("Invalid arguments for fail: x: unknown argument")));
}

static void test_a_long_unknown_name_is_quoted_in_part(void **state)
{
	char text[2000], name[1001];

	(void)state;
	memset(name, 'q', 1000);
	name[1000] = '\0';
	snprintf(text, sizeof(text), ARGS("{\"%s\":1}"), name);
	assert_int_equal(strspn(strstr(ask(text), "qqq"), "q"), NAME_SHOWN_MAX);
}

static void test_an_argument_given_twice_is_refused(void **state)
{
	(void)state;
	refused("{\"n\":1,\"n\":1}", "n: given twice");
	refused("{\"n\":null,\"n\":1}", "n: given twice");
	refused("{\"s\":\"\",\"\\u0073\":\"\"}", "s: given twice");
}

static void test_only_the_first_fault_is_told(void **state)
{
	(void)state;
	refused("{\"b\":7,\"n\":\"x\",\"bogus\":1}", "b: must be true or false");
}

/* --- strings --- */

static void test_strings_are_never_bent(void **state)
{
	(void)state;
	taken("{\"s\":\"\"}", "s1= " NO_N NO_B NO_T);
	taken("{\"s\":\" 5 \"}", "s1= 5  " NO_N NO_B NO_T);
	taken("{\"s\":\"null\"}", "s1=null " NO_N NO_B NO_T);
	taken("{\"s\":\"\\u00e9\\ud83d\\ude00\\r\\n\"}",
		"s1=\xc3\xa9\xf0\x9f\x98\x80\\r\\n " NO_N NO_B NO_T);
	refused("{\"s\":5}", "s: must be a string");
	refused("{\"s\":true}", "s: must be a string");
	refused("{\"s\":[\"x\"]}", "s: must be a string");
	refused("{\"s\":{}}", "s: must be a string");
}

static void test_half_a_surrogate_pair_is_no_text(void **state)
{
	(void)state;
	refused("{\"s\":\"a\\ud800\"}", "s: must not contain half of a surrogate pair");
	refused("{\"s\":\"\\udc00\\ud800\"}", "s: must not contain half of a surrogate pair");
}

static void test_nul_is_taken_only_where_content_may_hold_it(void **state)
{
	(void)state;
	refused("{\"s\":\"a\\u0000b\"}", "s: must not contain a NUL character");
	asked(CALL("1", "echo", "{\"text\":\"a\\u0000b\"}"), OK("1", TEXT_RESULT("a\\u0000b")));
}

static void test_of_a_few_words_only_these_are_taken(void **state)
{
	(void)state;
	asked(CALL("1", "pick", "{\"colour\":\"green\"}"), OK("1", TEXT_RESULT("1green")));
	asked(CALL("1", "pick", "{\"colour\":\"r\\u0065d\"}"), OK("1", TEXT_RESULT("1red")));
	asked(CALL("1", "pick", "{\"colour\":null}"), OK("1", TEXT_RESULT("0")));
	picks_none("\"blue\"");
	picks_none("\"\"");
	picks_none("\"Red\"");
	picks_none("\"re\"");
	picks_none("\"red|green\"");
	asked(CALL("1", "pick", "{\"colour\":1}"),
		OK("1", FAIL_RESULT("Invalid arguments for pick: colour: must be a string")));
}

/* --- integers --- */

static void test_an_integer_may_be_written_in_every_lossless_form(void **state)
{
	static const char *const forms[] = { "5", "5.0", "5.000", "5e0", "0.5e1", "50E-1", "\"5\"",
		"\"5.0\"", "\"\\u0035\"" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		snprintf(text, sizeof(text), ARGS("{\"n\":%s}"), forms[i]);
		asked(text, OK("1", TEXT_RESULT(NO_S "n1=5 " NO_B NO_T)));
	}
	taken("{\"n\":-0}", NO_S "n1=0 " NO_B NO_T);
	taken("{\"n\":-3}", NO_S "n1=-3 " NO_B NO_T);
	taken("{\"n\":9223372036854775807}", NO_S "n1=9223372036854775807 " NO_B NO_T);
	taken("{\"n\":-9223372036854775808}", NO_S "n1=-9223372036854775808 " NO_B NO_T);
}

static void test_what_is_no_integer_is_refused(void **state)
{
	static const char *const forms[] = { "5.5", "1e-1", "0.0001", "\"5.5\"", "\"\"", "\" 5\"",
		"\"5 \"", "\"abc\"", "\"0x10\"", "\"NaN\"", "\"+5\"", "\"5.\"", "\"1e\"", "\"-\"",
		"\"5\\u0000\"", "\"\\ud800\"", "\"007\"", "\"-05\"", "\"00\"", "\"05.0\"", "true",
		"false", "[5]", "{}" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		snprintf(text, sizeof(text), ARGS("{\"n\":%s}"), forms[i]);
		asked(text,
			OK("1", FAIL_RESULT("Invalid arguments for show: n: must be an integer")));
	}
}

static void test_an_integer_too_large_is_out_of_range(void **state)
{
	(void)state;
	refused("{\"n\":9223372036854775808}", "n: is out of range");
	refused("{\"n\":1e30}", "n: is out of range");
	refused("{\"n\":\"-99999999999999999999\"}", "n: is out of range");
}

/* --- truths --- */

static void test_a_truth_is_true_or_false_also_as_a_word(void **state)
{
	(void)state;
	taken("{\"b\":true}", NO_S NO_N "b1=1 " NO_T);
	taken("{\"b\":\"true\"}", NO_S NO_N "b1=1 " NO_T);
	taken("{\"b\":false}", NO_S NO_N "b1=0 " NO_T);
	taken("{\"b\":\"fals\\u0065\"}", NO_S NO_N "b1=0 " NO_T);
	refused("{\"b\":1}", "b: must be true or false");
	refused("{\"b\":0}", "b: must be true or false");
	refused("{\"b\":\"True\"}", "b: must be true or false");
	refused("{\"b\":\"\"}", "b: must be true or false");
	refused("{\"b\":\"yes\"}", "b: must be true or false");
	refused("{\"b\":[]}", "b: must be true or false");
}

/* --- seconds --- */

static void test_seconds_are_bound_as_milliseconds_and_kept_as_written(void **state)
{
	(void)state;
	taken("{\"t\":1.5}", NO_S NO_N NO_B "t1=1500,1.5");
	taken("{\"t\":\"0.25\"}", NO_S NO_N NO_B "t1=250,0.25");
	taken("{\"t\":\"0\\u002e25\"}", NO_S NO_N NO_B "t1=250,0.25");
	taken("{\"t\":2e1}", NO_S NO_N NO_B "t1=20000,2e1");
	taken("{\"t\":-1}", NO_S NO_N NO_B "t1=-1000,-1");
	taken("{\"t\":0.0019}", NO_S NO_N NO_B "t1=1,0.0019");
}

/* Nothing of the text behind a short string that was unescaped counts as written. */
static void test_of_an_escaped_number_only_its_value_is_as_written(void **state)
{
	(void)state;
	taken("{\"t\":\"0.\\u0030\\u0030\\u0030\\u0030\\u0030\"}", NO_S NO_N NO_B "t1=0,0.00000");
}

static void test_what_is_no_number_of_seconds_is_refused(void **state)
{
	static const char *const forms[] = { "\"\"", "\"1s\"", "\"1:00\"", "\"Infinity\"",
		"\"0x1\"", "\"007\"", "true", "[1]", "{}" };
	char text[200];

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		snprintf(text, sizeof(text), ARGS("{\"t\":%s}"), forms[i]);
		asked(text, OK("1", FAIL_RESULT("Invalid arguments for show: t: must be a number "
						"of seconds")));
	}
}

static void test_seconds_beyond_counting_are_the_most_that_can_be_counted(void **state)
{
	(void)state;
	taken("{\"t\":1e99}", NO_S NO_N NO_B "t1=9223372036854775807,1e99");
	taken("{\"t\":\"-1e99\"}", NO_S NO_N NO_B "t1=-9223372036854775808,-1e99");
}

/* --- the lenient form, of the sandbox tools --- */

#define GENTLE(args) CALL("1", "gentle", args)
#define gentle_refuses(args, fault)                                                                \
	asked(GENTLE(args), OK("1", FAIL_RESULT("Error executing tool gentle: argument " fault)))
/* What it was given, as structured content. */
static const char *words_of(const char *args)
{
	static char got[256];
	char call[512];
	const char *at;

	snprintf(call, sizeof(call), GENTLE("%s"), args);
	at = strstr(ask(call), "\"structuredContent\":");
	if (!at)
		return heard;
	at += strlen("\"structuredContent\":");
	snprintf(got, sizeof(got), "%.*s", (int)(strstr(at, ",\"isError\"") - at), at);
	return got;
}

#define gives(args, object) assert_string_equal(words_of(args), object)

static void test_words_come_as_an_array_or_as_the_text_of_one(void **state)
{
	(void)state;
	gives("{\"words\":[\"a b\",\"\\u00e9\\n\"]}", "{\"words\":[\"a b\",\"\xc3\xa9\\n\"]}");
	gives("{\"words\":\"[\\\"a\\\", \\\"\\\\u0062\\\"]\"}", "{\"words\":[\"a\",\"b\"]}");
}

static void test_what_is_no_array_of_words_is_told_with_an_example(void **state)
{
	static const char *const bad[] = { "\"ls -l\"", "[1]", "[\"a\",null]", "{}", "7", "\"[1]\"",
		"\"{}\"", "\"\"", "[[\"a\"]]" };
	char call[256];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(call, sizeof(call), GENTLE("{\"words\":%s}"), bad[i]);
		assert_non_null(
			strstr(ask(call), "argument words: must be an array of strings, as in "
					  "[\\\"sh\\\",\\\"-c\\\",\\\"...\\\"]\""));
	}
	gentle_refuses("{\"words\":[]}", "words: must not be empty");
	gentle_refuses("{\"words\":[\"a\\u0000\"]}", "words: must not contain a NUL character");
	gentle_refuses(
		"{\"words\":[\"\\ud800\"]}", "words: must not contain half of a surrogate pair");
}

static void test_bounds_are_told(void **state)
{
	(void)state;
	gives("{\"words\":[\"a\"],\"count\":9,\"name\":\"abcd\",\"secs\":2}",
		"{\"words\":[\"a\"],\"count\":9,\"name\":\"abcd\",\"ms\":2000}");
	gentle_refuses("{\"words\":[\"a\"],\"count\":0}", "count: must be between 1 and 9");
	gentle_refuses("{\"words\":[\"a\"],\"count\":\"10\"}", "count: must be between 1 and 9");
	gentle_refuses("{\"words\":[\"a\"],\"name\":\"\"}", "name: must not be empty");
	gentle_refuses("{\"words\":[\"a\"],\"name\":\"abcde\"}", "name: must have 1 to 4 bytes");
	gentle_refuses("{\"words\":[\"a\"],\"secs\":2.001}", "secs: must be between 0 and 2");
	gentle_refuses("{\"words\":[\"a\"],\"secs\":-1}", "secs: must be between 0 and 2");
}

static void test_what_is_unknown_is_ignored_and_null_is_not_given(void **state)
{
	(void)state;
	gives("{\"words\":[\"a\"],\"bogus\":{},\"count\":null,\"name\":null}",
		"{\"words\":[\"a\"]}");
	gentle_refuses("{\"count\":1}", "words: required");
	asked(GENTLE("{\"words\":null}"),
		OK("1", FAIL_RESULT("Error executing tool gentle: argument words: must be an array "
				    "of strings, as in "
				    "[\\\"sh\\\",\\\"-c\\\",\\\"...\\\"]")));
}

static void test_an_argument_may_have_two_names_but_one_value(void **state)
{
	(void)state;
	gives("{\"words\":[\"a\"],\"number\":3}", "{\"words\":[\"a\"],\"count\":3}");
	gentle_refuses("{\"words\":[\"a\"],\"number\":3,\"count\":3}", "count: given twice");
}

static void test_a_hidden_argument_is_taken(void **state)
{
	(void)state;
	gives("{\"words\":[\"a\"],\"quiet\":\"true\"}", "{\"words\":[\"a\"],\"quiet\":true}");
}

static void test_a_list_is_the_result_of_structured_content(void **state)
{
	(void)state;
	asked(CALL("1", "rows", "{}"),
		OK("1", "{\"content\":[{\"type\":\"text\",\"text\":"
			"\"[1,{\\\"a\\\":\\\"\\\\u0000\\\"}]\"}],\"structuredContent\":"
			"{\"result\":[1,{\"a\":\"\\u0000\"}]},\"isError\":false}"));
}

static void test_a_tool_may_refuse_an_argument_in_the_same_form(void **state)
{
	(void)state;
	asked(CALL("1", "ruled", "{}"),
		OK("1", FAIL_RESULT("Error executing tool ruled: argument name: is taken")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words_come_as_an_array_or_as_the_text_of_one),
		TEST(test_what_is_no_array_of_words_is_told_with_an_example),
		TEST(test_bounds_are_told),
		TEST(test_what_is_unknown_is_ignored_and_null_is_not_given),
		TEST(test_an_argument_may_have_two_names_but_one_value),
		TEST(test_a_hidden_argument_is_taken),
		TEST(test_a_list_is_the_result_of_structured_content),
		TEST(test_a_tool_may_refuse_an_argument_in_the_same_form),
		TEST(test_what_is_not_given_is_empty),
		TEST(test_order_and_escapes_of_names_do_not_matter),
		TEST(test_null_is_taken_where_the_schema_has_it_and_means_not_given),
		TEST(test_a_required_argument_must_be_there),
		TEST(test_an_unknown_argument_is_told_by_name),
		TEST(test_a_long_unknown_name_is_quoted_in_part),
		TEST(test_an_argument_given_twice_is_refused),
		TEST(test_only_the_first_fault_is_told),
		TEST(test_strings_are_never_bent),
		TEST(test_half_a_surrogate_pair_is_no_text),
		TEST(test_nul_is_taken_only_where_content_may_hold_it),
		TEST(test_of_a_few_words_only_these_are_taken),
		TEST(test_an_integer_may_be_written_in_every_lossless_form),
		TEST(test_what_is_no_integer_is_refused),
		TEST(test_an_integer_too_large_is_out_of_range),
		TEST(test_a_truth_is_true_or_false_also_as_a_word),
		TEST(test_seconds_are_bound_as_milliseconds_and_kept_as_written),
		TEST(test_of_an_escaped_number_only_its_value_is_as_written),
		TEST(test_what_is_no_number_of_seconds_is_refused),
		TEST(test_seconds_beyond_counting_are_the_most_that_can_be_counted),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
