/*
 * What a JSON text looks like in words, and which list it holds.
 */
#include "unit.h"

#include "front/json_shape.h"

static char text[2048], tokens[32 * 1024], shape_mem[2048];

static struct json parsed(const char *json)
{
	struct json d;
	struct buf mem;

	buf_over(&mem, tokens, sizeof(tokens));
	strcpy(text, json);
	assert_int_equal(json_parse(&d, text, strlen(text), &mem), 0);
	return d;
}

static void looks(const char *json, const char *words)
{
	struct json d = parsed(json);
	struct buf b;

	buf_over(&b, shape_mem, sizeof(shape_mem));
	json_put_shape(&b, &d, 0);
	assert_same(buf_all(&b), slice_of(words));
}

static void test_shapes_name_members_and_hold_no_values(void **state)
{
	(void)state;
	looks("{\"id\":\"secret\",\"n\":{\"deep\":1}}", "object with id, n");
	looks("{}", "empty object");
	looks("[]", "array of 0");
	looks("[{\"id\":1,\"x\":2},{\"y\":1}]", "array of 2, the first: object with id, x");
	looks("[\"secret\"]", "array of 1, the first: string");
	looks("[[1]]", "array of 1, the first: array");
	looks("\"secret\"", "string");
	looks("42", "number");
	looks("true", "truth value");
	looks("null", "null");
}

static void test_names_that_would_run_on_are_cut(void **state)
{
	char json[1024], words[256];
	size_t n = 0;

	(void)state;
	looks("{\"\":1,\"0123456789012345678901234567890123456789\":2}",
		"object with (no name), (a long name)");
	n += (size_t)sprintf(json, "{");
	for (int i = 0; i < 20; i++)
		n += (size_t)sprintf(json + n, "%s\"m%d\":0", i ? "," : "", i);
	sprintf(json + n, "}");
	n = (size_t)sprintf(words, "object with ");
	for (int i = 0; i < 16; i++)
		n += (size_t)sprintf(words + n, "%sm%d", i ? ", " : "", i);
	sprintf(words + n, ", ...");
	looks(json, words);
}

static int list_count(const char *json)
{
	struct json d = parsed(json);
	int at = json_list_in(&d);

	return at < 0 ? -1 : json_count(&d, at);
}

/* sandbox-tools.md section 6.2: a bare array, or the only one of an object. */
static void test_the_list_of_an_answer(void **state)
{
	struct json none = { 0 };

	(void)state;
	assert_int_equal(list_count("[1,2,3]"), 3);
	assert_int_equal(list_count("[]"), 0);
	assert_int_equal(list_count("{\"sandboxes\":[1,2]}"), 2);
	assert_int_equal(list_count("{\"next\":null,\"items\":[1],\"n\":{\"a\":[1,2,3]}}"), 1);
	assert_int_equal(list_count("{\"a\":[],\"b\":[]}"), -1);
	assert_int_equal(list_count("{\"a\":1}"), -1);
	assert_int_equal(list_count("{}"), -1);
	assert_int_equal(list_count("\"[]\""), -1);
	assert_int_equal(json_list_in(&none), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes_name_members_and_hold_no_values),
		cmocka_unit_test(test_names_that_would_run_on_are_cut),
		cmocka_unit_test(test_the_list_of_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
