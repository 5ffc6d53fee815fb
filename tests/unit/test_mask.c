/*
 * What people will read holds no secret of the exchange it tells of.
 */
#include "unit.h"

#include "http/mask.h"

#define FIELDS "Authorization: Bearer api/token+1\r\nX-Sandstorm-Sandbox-Token: box-token\r\n"

static char out_mem[4096];
static struct mask secrets;
static struct buf out;

static struct slice body(struct slice text)
{
	mask_from(&secrets, LIT(FIELDS));
	buf_over(&out, out_mem, sizeof(out_mem));
	mask_put_body(&secrets, &out, text);
	assert_false(out.failed);
	return buf_all(&out);
}

#define BODY(text, want) assert_same(body(LIT(text)), LIT(want))

static void test_the_secrets_of_a_request_are_found(void **state)
{
	(void)state;
	mask_from(&secrets, LIT(FIELDS));
	assert_int_equal(secrets.n, 2);
	assert_slice(secrets.secret[0], "api/token+1");
	assert_slice(secrets.secret[1], "box-token");
	mask_from(&secrets, LIT("X-Key: x\r\nEmpty:\r\nnothing\r\nY: a b\r\n"));
	assert_int_equal(secrets.n, 2);
	assert_slice(secrets.secret[1], "b");
	mask_from(&secrets, LIT(""));
	assert_int_equal(secrets.n, 0);
	mask_from(&secrets,
		LIT("a-token: 1\r\na-token: 2\r\na-token: 3\r\na-token: 4\r\na-token: 5"));
	assert_int_equal(secrets.n, MASK_SECRETS_MAX);
}

static void test_a_head_keeps_all_but_its_secrets(void **state)
{
	struct slice request =
		LIT("GET /v1/api/token+1 HTTP/1.1\r\n" FIELDS "A: box-token\r\n\r\n");

	(void)state;
	mask_from(&secrets, LIT(FIELDS));
	buf_over(&out, out_mem, sizeof(out_mem));
	mask_put_head(&secrets, &out, request);
	assert_slice(buf_all(&out), "GET /v1/*** HTTP/1.1\nAuthorization: Bearer ***\n"
				    "X-Sandstorm-Sandbox-Token: ***\nA: ***\n\n");
	buf_cut(&out, 0);
	mask_put_head(&secrets, &out, LIT("Set-Cookie: a=b; Path=/\nauthorization: Basic abc\n"));
	assert_slice(buf_all(&out), "Set-Cookie: ***\nauthorization: ***\n");
	buf_cut(&out, 0);
	mask_put_head(&secrets, &out, LIT("x-box-token-token: 1\n"));
	assert_slice(buf_all(&out), "x-***-token: ***\n");
}

static void test_secrets_are_masked_wherever_they_are_echoed(void **state)
{
	(void)state;
	BODY("bad token api/token+1!", "bad token ***!");
	BODY("box-tokenbox-token", "******");
	BODY("{\"error\":\"api\\/token+1 box-token\"}", "{\"error\":\"*** ***\"}");
	BODY("[\"box-token\",\"box-toke\"]", "[\"***\",\"box-toke\"]");
	BODY("it was cut: api/to", "it was cut: ***");
	BODY("it was cut: api", "it was cut: api");
	BODY("nothing here", "nothing here");
	BODY("", "");
}

static void test_members_named_token_are_masked(void **state)
{
	(void)state;
	BODY("[{\"id\":\"sb-1\",\"token\":\"abc\",\"n\":1}]",
		"[{\"id\":\"sb-1\",\"token\":\"***\",\"n\":1}]");
	BODY("{\"sandbox_TOKEN\" : \"a\\\"b\" , \"x\":\"y\"}",
		"{\"sandbox_TOKEN\" : \"***\" , \"x\":\"y\"}");
	BODY("{\"tokens\":[\"a\", \"b\" ,\"c\"],\"x\":\"y\"}",
		"{\"tokens\":[\"***\", \"***\" ,\"***\"],\"x\":\"y\"}");
	BODY("{\"token\":null,\"tokens\":[],\"x\":{\"token\":{\"a\":\"b\"}}}",
		"{\"token\":null,\"tokens\":[],\"x\":{\"token\":{\"a\":\"b\"}}}");
	BODY("[\"token\",\"x\"]", "[\"token\",\"x\"]");
	BODY("{\"token\":\"cut he", "{\"token\":\"***\"");
	BODY("{\"token\":\"cut\\", "{\"token\":\"***\"");
	BODY("{\"token\":[\"a\",", "{\"token\":[\"***\",");
	BODY("{\"token\":", "{\"token\":");
	BODY("{\"token\"", "{\"token\"");
	BODY("\"tok", "\"tok");
}

static void test_members_that_are_told_are_masked(void **state)
{
	(void)state;
	secrets.n = 0;
	secrets.members = LIT(" key secret ");
	buf_over(&out, out_mem, sizeof(out_mem));
	mask_put_body(&secrets, &out,
		LIT("{\"key\":\"a\",\"keys\":\"b\",\"secret\":[\"c\"],\"\":\"d\"}"));
	assert_slice(
		buf_all(&out), "{\"key\":\"***\",\"keys\":\"b\",\"secret\":[\"***\"],\"\":\"d\"}");
	secrets.members = LIT("");
}

/* A secret that looks like JSON does not slip through where a string ends. */
static void test_a_secret_with_quotes_in_it(void **state)
{
	(void)state;
	mask_from(&secrets, LIT("a-token: ab\"cd\r\n"));
	buf_over(&out, out_mem, sizeof(out_mem));
	mask_put_body(&secrets, &out, LIT("\"xab\"cd\" \"ab\\\"cd\""));
	assert_slice(buf_all(&out), "\"x***\" \"***\"");
}

static void test_quoting_is_one_line_of_plain_characters(void **state)
{
	(void)state;
	mask_from(&secrets, LIT(FIELDS));
	buf_over(&out, out_mem, sizeof(out_mem));
	mask_put_quoted(&secrets, &out, LIT("a\"b\\c\r\n\x1b\xff\0 box-token!"), 99);
	assert_slice(buf_all(&out), "\"a\\\"b\\\\c\\x0d\\x0a\\x1b\\xff\\x00 ***!\"");
	/* a secret across the cut is seen whole */
	buf_cut(&out, 0);
	mask_put_quoted(&secrets, &out, LIT("1234box-token"), 6);
	assert_slice(buf_all(&out), "\"1234***\"");
	buf_cut(&out, 0);
	mask_put_quoted(&secrets, &out, LIT("123456789"), 6);
	assert_slice(buf_all(&out), "\"123456\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_secrets_of_a_request_are_found),
		cmocka_unit_test(test_a_head_keeps_all_but_its_secrets),
		cmocka_unit_test(test_secrets_are_masked_wherever_they_are_echoed),
		cmocka_unit_test(test_members_named_token_are_masked),
		cmocka_unit_test(test_members_that_are_told_are_masked),
		cmocka_unit_test(test_a_secret_with_quotes_in_it),
		cmocka_unit_test(test_quoting_is_one_line_of_plain_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
