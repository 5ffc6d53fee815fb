/*
 * Bodies of the sessions API: what is taken, and in which words all else is refused.
 */
#include "unit.h"

#include "bounds.h"
#include "front/session_body.h"
#include "host/session_env.h"

static char text[256 * KIB];
static struct buf mem, why;
static struct json doc;

static int setup(void **state)
{
	(void)state;
	mem = unit_buf(MIB);
	why = unit_buf(4 * KIB);
	return 0;
}

static void parse(const char *json)
{
	size_t n = strlen(json);

	buf_cut(&mem, 0);
	buf_cut(&why, 0);
	memset(&doc, 0, sizeof(doc));
	memcpy(text, json, n);
	if (n > 0)
		assert_int_equal(json_parse(&doc, text, n, &mem), 0);
}

static struct create_body create(const char *json)
{
	struct create_body b;

	parse(json);
	if (!session_body_create(&doc, &b, &why))
		fail_msg("%s: %.*s", json, SLICE(buf_all(&why)));
	return b;
}

static struct exec_body exec(const char *json)
{
	struct exec_body b;

	parse(json);
	if (!session_body_exec(&doc, &b, &why))
		fail_msg("%s: %.*s", json, SLICE(buf_all(&why)));
	return b;
}

static void create_refused(const char *json, const char *want)
{
	struct create_body b;

	parse(json);
	if (session_body_create(&doc, &b, &why))
		fail_msg("%s was taken", json);
	assert_same(buf_all(&why), slice_of(want));
}

static void exec_refused(const char *json, const char *want)
{
	struct exec_body b;

	parse(json);
	if (session_body_exec(&doc, &b, &why))
		fail_msg("%s was taken", json);
	assert_same(buf_all(&why), slice_of(want));
}

/* --- create --- */

static void test_the_least_that_makes_a_session(void **state)
{
	struct create_body b = create("{\"type\":\"work\"}");

	(void)state;
	assert_slice(b.type, "work");
	assert_int_equal(b.minutes, 30);
	assert_int_equal(b.context, -1);
	assert_int_equal(b.env, -1);
	assert_int_equal(b.repo.n, 0);
}

static void test_everything_a_session_may_ask_for(void **state)
{
	struct create_body b = create(
		"{\"requirements\":{\"branch\":\"a/b\",\"repo\":\"some-body/The_repo.js\",\"x\":1},"
		"\"context\":{\"env\":{\"A\":\"\\n\"}},\"ttl_minutes\":120,\"type\":\"\\u00e4\","
		"\"y\":[]}");

	(void)state;
	assert_slice(b.type, "\xc3\xa4");
	assert_int_equal(b.minutes, 120);
	assert_slice(json_raw(&doc, b.context), "{\"env\":{\"A\":\"\\n\"}}");
	assert_slice(json_raw(&doc, b.env), "{\"A\":\"\\n\"}");
	assert_slice(b.owner, "some-body");
	assert_slice(b.repo, "The_repo.js");
	assert_slice(b.branch, "a/b");
}

static void test_null_is_absent_where_something_is_optional(void **state)
{
	struct create_body b = create("{\"type\":\"x\",\"context\":null,\"requirements\":null}");

	(void)state;
	assert_int_equal(b.context, -1);
	b = create("{\"type\":\"x\",\"context\":{\"env\":null},\"requirements\":{\"repo\":null,"
		   "\"branch\":null}}");
	assert_int_equal(b.env, -1);
	assert_int_equal(b.repo.n, 0);
	b = create("{\"type\":\"x\",\"requirements\":{\"repo\":\"a/b\",\"branch\":null}}");
	assert_slice(b.branch, "main");
	assert_slice(create("{\"type\":\"x\",\"requirements\":{\"repo\":\"a/b\"}}").branch, "main");
}

static void test_minutes_are_whole_numbers_in_several_spellings(void **state)
{
	static const struct {
		const char *json;
		int64_t minutes;
	} cases[] = {
		{ "{\"type\":\"x\",\"ttl_minutes\":1}", 1 },
		{ "{\"type\":\"x\",\"ttl_minutes\":120}", 120 },
		{ "{\"type\":\"x\",\"ttl_minutes\":30.7}", 30 },
		{ "{\"type\":\"x\",\"ttl_minutes\":3e1}", 30 },
		{ "{\"type\":\"x\",\"ttl_minutes\":\"45\"}", 45 },
		{ "{\"type\":\"x\",\"ttl_minutes\":\" 45 \"}", 45 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(create(cases[i].json).minutes, cases[i].minutes);
}

static void test_other_minutes_are_refused(void **state)
{
	static const char *const ranges[] = { "0", "121", "-5", "0.9", "1e30", "-1e30", "\"0\"",
		"99999999999999999999", "\"99999999999999999999\"" };
	static const char *const types[] = { "null", "true", "\"abc\"", "\"\"", "\"1.5\"", "[30]",
		"{}", "\"0x10\"" };
	char json[128];

	(void)state;
	for (size_t i = 0; i < COUNT(ranges); i++) {
		snprintf(json, sizeof(json), "{\"type\":\"x\",\"ttl_minutes\":%s}", ranges[i]);
		create_refused(json, "ttl_minutes: must be between 1 and 120");
	}
	for (size_t i = 0; i < COUNT(types); i++) {
		snprintf(json, sizeof(json), "{\"type\":\"x\",\"ttl_minutes\":%s}", types[i]);
		create_refused(json, "ttl_minutes: must be an integer");
	}
}

/* Fault 32 */
static void test_wrong_types_are_refused_by_name(void **state)
{
	static const char object[] = "Invalid JSON: the body must be an object";
	static const char field[] = "type: field required";

	(void)state;
	create_refused("", object);
	create_refused("[]", object);
	create_refused("\"x\"", object);
	create_refused("null", object);
	create_refused("{}", field);
	create_refused("{\"type\":\"\"}", field);
	create_refused("{\"type\":null}", field);
	create_refused("{\"type\":5}", field);
	create_refused("{\"type\":[\"x\"]}", field);
	create_refused("{\"type\":\"\\ud800\"}", field);
	create_refused("{\"type\":\"x\",\"type\":\"y\"}", "Invalid JSON: a member stands twice");
	create_refused("{\"type\":\"x\",\"context\":[]}", "context: must be an object");
	create_refused("{\"type\":\"x\",\"context\":\"x\"}", "context: must be an object");
	create_refused(
		"{\"type\":\"x\",\"context\":{\"env\":[]}}", "context.env: must be an object");
	create_refused(
		"{\"type\":\"x\",\"requirements\":\"a/b\"}", "requirements: must be an object");
	create_refused("{\"type\":\"x\",\"requirements\":{\"repo\":5}}",
		"requirements.repo: must be a string");
	create_refused("{\"type\":\"x\",\"requirements\":{\"repo\":\"a/b\",\"branch\":[]}}",
		"requirements.branch: must be a string");
}

static void test_a_type_is_bounded(void **state)
{
	char json[SESSION_TYPE_BYTES + 32];
	int n = SESSION_TYPE_BYTES;

	(void)state;
	snprintf(json, sizeof(json), "{\"type\":\"%0*d\"}", n, 0);
	assert_int_equal(create(json).type.n, n);
	snprintf(json, sizeof(json), "{\"type\":\"%0*d\"}", n + 1, 0);
	create_refused(json, "type: must be at most 128 bytes long");
}

/* Fault 41 and what else could be read as an option, a path or a command. */
static void test_a_repository_is_a_name_on_github(void **state)
{
	static const char *const bad[] = { "a", "a/", "/a", "a/b/c", "a/..", "../b", "./b", "a/.",
		"-a/b", "a/-b", "a b/c", "a/b c", "a/b;id", "a/$(id)", "a/`id`", "a/b\\n",
		"https://github.com/a/b", "a@b/c", "a/b?x", "a/b#x", "a/\\u00e4", "a/b\\u0000",
		"a//b" };
	char json[128];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(json, sizeof(json), "{\"type\":\"x\",\"requirements\":{\"repo\":\"%s\"}}",
			bad[i]);
		create_refused(json, "requirements.repo: must be \"owner/name\", as on github.com");
	}
}

static void test_a_branch_follows_the_rules_of_git(void **state)
{
	static const char *const bad[] = { "-x", "--upload-pack=id", "a..b", "a b", "a~1", "a:b",
		"a?", "*", "[", "a\\\\b", "x.lock", "/a", "a/", "a//b", ".a", "a/.b", "@{",
		"a\\u0001", "it's $(cmd)" };
	static const char *const good[] = { "main", "feature/x", "v1.2", "a-b_c", "it's", "$(cmd)",
		"\\u00e4" };
	struct create_body b;
	char json[128];

	(void)state;
	for (size_t i = 0; i < COUNT(bad) + COUNT(good); i++) {
		bool want = i >= COUNT(bad);

		snprintf(json, sizeof(json),
			"{\"type\":\"x\",\"requirements\":{\"repo\":\"a/b\",\"branch\":\"%s\"}}",
			want ? good[i - COUNT(bad)] : bad[i]);
		parse(json);
		if (session_body_create(&doc, &b, &why) != want)
			fail_msg("%s", json);
	}
}

/* --- exec --- */

static void test_a_command_and_its_limits(void **state)
{
	struct exec_body b = exec("{\"command\":\"echo \\\"x\\\"\"}");

	(void)state;
	assert_slice(b.command, "echo \"x\"");
	assert_int_equal(b.seconds, 30);
	assert_int_equal(b.cwd.n, 0);
	b = exec("{\"command\":\"x\",\"cwd\":\"a/b\",\"timeout_ms\":2500}");
	assert_slice(b.cwd, "a/b");
	assert_int_equal(b.seconds, 2);
	assert_int_equal(exec("{\"command\":\"x\",\"cwd\":null}").cwd.n, 0);
}

static void test_limits_are_whole_seconds_from_one_to_three_hundred(void **state)
{
	static const struct {
		const char *ms;
		int64_t seconds;
	} cases[] = {
		{ "0", 1 },
		{ "1", 1 },
		{ "999", 1 },
		{ "1999.9", 1 },
		{ "2000", 2 },
		{ "\"5000\"", 5 },
		{ "300000", 300 },
		{ "300001", 300 },
		{ "1e18", 300 },
		{ "99999999999999999999999", 300 },
	};
	char json[128];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(json, sizeof(json), "{\"command\":\"x\",\"timeout_ms\":%s}", cases[i].ms);
		assert_int_equal(exec(json).seconds, cases[i].seconds);
	}
}

static void test_other_commands_are_refused(void **state)
{
	static const char field[] = "command: field required";

	(void)state;
	exec_refused("", "Invalid JSON: the body must be an object");
	exec_refused("[\"ls\"]", "Invalid JSON: the body must be an object");
	exec_refused("{}", field);
	exec_refused("{\"command\":\"\"}", field);
	exec_refused("{\"command\":[\"ls\"]}", field);
	exec_refused("{\"command\":\"a\\u0000b\"}", "command: must not contain NUL");
	exec_refused(
		"{\"command\":\"x\",\"timeout_ms\":\"soon\"}", "timeout_ms: must be an integer");
	exec_refused("{\"command\":\"x\",\"timeout_ms\":null}", "timeout_ms: must be an integer");
	exec_refused("{\"command\":\"x\",\"timeout_ms\":true}", "timeout_ms: must be an integer");
	exec_refused("{\"command\":\"x\",\"timeout_ms\":-1}", "timeout_ms: must not be negative");
	exec_refused(
		"{\"command\":\"x\",\"timeout_ms\":-1e99}", "timeout_ms: must not be negative");
	exec_refused("{\"command\":\"x\",\"cwd\":5}", "cwd: must be a string");
}

/* --- extend --- */

static void test_an_extension_needs_no_body(void **state)
{
	int64_t minutes;

	(void)state;
	parse("");
	assert_true(session_body_extend(&doc, &minutes, &why));
	assert_int_equal(minutes, 15);
	parse("{}");
	assert_true(session_body_extend(&doc, &minutes, &why));
	assert_int_equal(minutes, 15);
	parse("{\"additional_minutes\":60}");
	assert_true(session_body_extend(&doc, &minutes, &why));
	assert_int_equal(minutes, 60);
}

/* Fault 51 */
static void test_an_extension_is_one_to_two_hours(void **state)
{
	static const char *const bad[] = { "-500", "0", "121", "null", "\"x\"", "true", "[]" };
	char json[64];
	int64_t minutes;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(json, sizeof(json), "{\"additional_minutes\":%s}", bad[i]);
		parse(json);
		assert_false(session_body_extend(&doc, &minutes, &why));
		assert_same(buf_all(&why),
			slice_of(i < 3 ? "additional_minutes: must be between 1 and 120"
				       : "additional_minutes: must be an integer"));
	}
	parse("[15]");
	assert_false(session_body_extend(&doc, &minutes, &why));
}

/* --- variables --- */

static const char *const *variables(const char *json)
{
	const char *const *env;

	parse(json);
	env = session_env(&doc, 0, &mem, &why);
	if (!env)
		fail_msg("%s: %.*s", json, SLICE(buf_all(&why)));
	return env;
}

static void test_variables_become_an_environment(void **state)
{
	const char *const *env =
		variables("{\"A\":\"x=y \\u00e4\\n\",\"_b2\":\"\",\"N\":8080,\"F\":1.50,\"T\":true,"
			  "\"U\":false}");
	static const char *const want[] = { "A=x=y \xc3\xa4\n", "_b2=", "N=8080", "F=1.50",
		"T=true", "U=false" };

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(env[i], want[i]);
	assert_null(env[COUNT(want)]);
	assert_null(variables("{}")[0]);
}

static void refused(const char *json, const char *want)
{
	parse(json);
	if (session_env(&doc, 0, &mem, &why))
		fail_msg("%s was taken", json);
	assert_same(buf_all(&why), slice_of(want));
}

static void test_what_cannot_be_a_variable_is_refused(void **state)
{
	(void)state;
	refused("[]", "env: must be an object");
	refused("{\"\":\"x\"}", ": not a name for a variable");
	refused("{\"1A\":\"x\"}", "1A: not a name for a variable");
	refused("{\"A B\":\"x\"}", "A B: not a name for a variable");
	refused("{\"A=B\":\"x\"}", "A=B: not a name for a variable");
	refused("{\"SANDSTORM_JOB\":\"x\"}", "SANDSTORM_JOB: the server itself sets this variable");
	refused("{\"A\":\"x\\u0000y\"}", "A: the value must not contain NUL");
	refused("{\"A\":null}", "A: the value must be a string");
	refused("{\"A\":[]}", "A: the value must be a string");
	refused("{\"A\":\"\\ud800\"}", "A: the value must be a string");
}

static void test_variables_are_bounded_in_number(void **state)
{
	struct buf b = unit_buf(64 * KIB);

	(void)state;
	buf_puts(&b, "{\"V0\":1");
	for (int i = 1; i < CHILD_ENV_MORE; i++)
		buf_printf(&b, ",\"V%d\":1", i);
	buf_puts(&b, "}");
	buf_putc(&b, '\0');
	assert_string_equal(variables(b.p)[CHILD_ENV_MORE - 1], "V127=1");
	buf_cut(&b, b.len - 2);
	buf_puts(&b, ",\"W\":1}");
	buf_putc(&b, '\0');
	refused(b.p, "env: more variables than a command may get");
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_least_that_makes_a_session),
		cmocka_unit_test(test_everything_a_session_may_ask_for),
		cmocka_unit_test(test_null_is_absent_where_something_is_optional),
		cmocka_unit_test(test_minutes_are_whole_numbers_in_several_spellings),
		cmocka_unit_test(test_other_minutes_are_refused),
		cmocka_unit_test(test_wrong_types_are_refused_by_name),
		cmocka_unit_test(test_a_type_is_bounded),
		cmocka_unit_test(test_a_repository_is_a_name_on_github),
		cmocka_unit_test(test_a_branch_follows_the_rules_of_git),
		cmocka_unit_test(test_a_command_and_its_limits),
		cmocka_unit_test(test_limits_are_whole_seconds_from_one_to_three_hundred),
		cmocka_unit_test(test_other_commands_are_refused),
		cmocka_unit_test(test_an_extension_needs_no_body),
		cmocka_unit_test(test_an_extension_is_one_to_two_hours),
		cmocka_unit_test(test_variables_become_an_environment),
		cmocka_unit_test(test_what_cannot_be_a_variable_is_refused),
		cmocka_unit_test(test_variables_are_bounded_in_number),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
