/*
 * JSON as Python's json.dumps(value, indent=2) writes it.
 */
#include "unit.h"

#include "bounds.h"
#include "json/json_pretty.h"

static void becomes(const char *json, const char *want)
{
	struct buf b = unit_buf(4 * KIB);

	json_pretty(&b, slice_of(json));
	assert_same(buf_all(&b), slice_of(want));
	buf_release(&b);
}

static void test_scalars_stay_as_they_came(void **state)
{
	static const char *const same[] = { "1", "-0.50e+7", "true", "false", "null", "\"\"",
		"\"a b\"", "12345678901234567890" };

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++)
		becomes(same[i], same[i]);
	becomes(" \r\n\t1 ", "1");
}

static void test_two_blanks_a_level(void **state)
{
	(void)state;
	becomes("{\"a\":1,\"b\":[true,{\"c\":null}]}",
		"{\n  \"a\": 1,\n  \"b\": [\n    true,\n    {\n      \"c\": null\n    }\n  ]\n}");
	becomes(" [ [ 1 , 2 ] , [ 3 ] ] ", "[\n  [\n    1,\n    2\n  ],\n  [\n    3\n  ]\n]");
}

static void test_what_is_empty_stays_in_one_piece(void **state)
{
	(void)state;
	becomes("{}", "{}");
	becomes("[ \n ]", "[]");
	becomes("{\"a\":{ },\"b\":[[]]}", "{\n  \"a\": {},\n  \"b\": [\n    []\n  ]\n}");
}

static void test_strings_become_ascii(void **state)
{
	(void)state;
	becomes("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\\u00e4\\u20ac\\ud83d\\ude00\"");
	becomes("\"\\n\\\"\\\\\\u0001\\/\"", "\"\\n\\\"\\\\\\u0001/\"");
	becomes("\"{[,:]}\"", "\"{[,:]}\"");
	becomes("\"\x7f\"", "\"\x7f\"");
	becomes("{\"\xc3\xa4\":\"\\ud83d\"}", "{\n  \"\\u00e4\": \"\\ud83d\"\n}");
}

static void test_what_does_not_fit_is_told(void **state)
{
	char mem[4];
	struct buf b;

	(void)state;
	buf_over(&b, mem, sizeof(mem));
	json_pretty(&b, LIT("[1]"));
	assert_true(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars_stay_as_they_came),
		cmocka_unit_test(test_two_blanks_a_level),
		cmocka_unit_test(test_what_is_empty_stays_in_one_piece),
		cmocka_unit_test(test_strings_become_ascii),
		cmocka_unit_test(test_what_does_not_fit_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
