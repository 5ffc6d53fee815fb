/*
 * JSON-RPC: what is answered to which text, and that a request always gets exactly one answer.
 */
#include "peer.h"

#include "version.h"

/* --- texts that are no messages --- */

static void test_what_is_not_json_is_a_parse_error_without_id(void **state)
{
	(void)state;
	asked("{", ERR("null", -32700, "Parse error: not valid JSON"));
	asked("", ERR("null", -32700, "Parse error: not valid JSON"));
	asked("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
		ERR("null", -32700, "Parse error: not valid JSON"));
	asked("{\"id\":1,\"method\":\"\xff\"}", ERR("null", -32700, "Parse error: not valid JSON"));
}

static void test_white_space_around_a_message_is_nothing(void **state)
{
	(void)state;
	asked(" \t" MSG("\"id\":1,\"method\":\"ping\"") "\r", OK("1", "{}"));
}

static void test_what_is_no_object_is_no_message(void **state)
{
	(void)state;
	asked("1", ERR("null", -32600, "A message must be an object"));
	asked("\"ping\"", ERR("null", -32600, "A message must be an object"));
	asked("null", ERR("null", -32600, "A message must be an object"));
}

static void test_json_that_is_too_deep_or_has_too_many_values_is_refused(void **state)
{
	static char deep[2 * (JSON_DEPTH_MAX + 1) + 1], wide[2 * JSON_TOKENS_MAX + 2];

	(void)state;
	memset(deep, '[', JSON_DEPTH_MAX + 1);
	memset(deep + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	asked(deep, ERR("null", -32600,
			    "JSON is too deep or too large: at most 64 levels and 65536 values"));
	for (size_t i = 0; i < JSON_TOKENS_MAX; i++)
		memcpy(wide + 2 * i, i == 0 ? "[1" : ",1", 2);
	wide[2 * JSON_TOKENS_MAX] = ']';
	asked(wide, ERR("null", -32600,
			    "JSON is too deep or too large: at most 64 levels and 65536 values"));
}

static void test_a_text_that_was_too_long_is_told(void **state)
{
	struct job *j = job_new(&peer_sink, NULL);

	(void)state;
	rpc_too_long(j);
	run_tasks();
	assert_string_equal(
		heard, ERR("null", -32600, "The message is over the limit of 16777216 bytes") "\n");
}

static void test_a_text_that_found_no_memory_is_told(void **state)
{
	struct job *j = job_new(&peer_sink, NULL);

	(void)state;
	mem_set_budget(0);
	assert_false(buf_room(&j->text, MIB));
	rpc_too_long(j);
	mem_set_budget(MEM_BUDGET_MAX);
	run_tasks();
	assert_string_equal(heard,
		ERR("null", -32603, "The message does not fit into the server's memory") "\n");
}

/* --- ids --- */

static void test_an_id_comes_back_as_it_was_written(void **state)
{
	(void)state;
	asked(MSG("\"id\":0,\"method\":\"ping\""), OK("0", "{}"));
	asked(MSG("\"id\":-7,\"method\":\"ping\""), OK("-7", "{}"));
	asked(MSG("\"id\":123456789012345678901234567890,\"method\":\"ping\""),
		OK("123456789012345678901234567890", "{}"));
	asked(MSG("\"id\":\"\",\"method\":\"ping\""), OK("\"\"", "{}"));
	asked(MSG("\"id\":\"a\\u0062\\\"\\ud800\",\"method\":\"ping\""),
		OK("\"a\\u0062\\\"\\ud800\"", "{}"));
	asked("{\"method\":\"ping\",\"id\" : 5 ,\"jsonrpc\":\"2.0\"}", OK("5", "{}"));
}

static void test_what_is_no_id_is_refused_without_one(void **state)
{
	static const char *const ids[] = { "null", "1.5", "1.0", "1e3", "true", "[1]", "{}" };
	char text[100];

	(void)state;
	for (size_t i = 0; i < COUNT(ids); i++) {
		snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
			ids[i]);
		asked(text, ERR("null", -32600,
				    "id must be a string or an integer of at most 1024 bytes"));
	}
}

static void test_an_id_has_a_longest_form(void **state)
{
	char text[2 * ID_MAX], id[ID_MAX + 1];

	(void)state;
	memset(id, '7', ID_MAX);
	id[ID_MAX] = '\0';
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", id);
	assert_non_null(strstr(ask(text), id));
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s7,\"method\":\"ping\"}", id);
	asked(text, ERR("null", -32600, "id must be a string or an integer of at most 1024 bytes"));
}

/* --- the envelope --- */

static void test_a_message_must_say_that_it_is_json_rpc_2(void **state)
{
	(void)state;
	asked("{\"id\":1,\"method\":\"ping\"}", ERR("1", -32600, "jsonrpc must be \\\"2.0\\\""));
	asked("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
		ERR("1", -32600, "jsonrpc must be \\\"2.0\\\""));
	asked("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
		ERR("1", -32600, "jsonrpc must be \\\"2.0\\\""));
	asked("{\"jsonrpc\":\"2\\u002e0\",\"id\":1,\"method\":\"ping\"}", OK("1", "{}"));
}

static void test_a_method_must_be_a_string(void **state)
{
	(void)state;
	asked(MSG("\"id\":1"), ERR("1", -32600, "method must be a string"));
	asked(MSG("\"id\":1,\"method\":7"), ERR("1", -32600, "method must be a string"));
	asked(MSG("\"method\":null"), ERR("null", -32600, "method must be a string"));
}

static void test_a_member_that_stands_twice_is_refused(void **state)
{
	(void)state;
	asked(MSG("\"id\":1,\"method\":\"ping\",\"method\":\"initialize\""),
		ERR("1", -32600, "A member of the message stands twice"));
	asked(MSG("\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":\"echo\",\"name\":\"fail\"}"),
		ERR("1", -32602, "name or arguments stands twice"));
}

static void test_params_must_be_an_object_or_absent(void **state)
{
	(void)state;
	asked(MSG("\"id\":1,\"method\":\"ping\",\"params\":[]"),
		ERR("1", -32602, "params must be an object"));
	asked(MSG("\"id\":1,\"method\":\"ping\",\"params\":\"x\""),
		ERR("1", -32602, "params must be an object"));
	asked(MSG("\"id\":1,\"method\":\"ping\",\"params\":null"), OK("1", "{}"));
	asked(MSG("\"id\":1,\"method\":\"ping\",\"params\":{\"more\":[{}]}"), OK("1", "{}"));
}

static void test_unknown_methods_are_told_by_name(void **state)
{
	(void)state;
	asked(MSG("\"id\":1,\"method\":\"prompts/list\""),
		ERR("1", -32601, "Method not found: prompts/list"));
	asked(MSG("\"id\":1,\"method\":\"\""), ERR("1", -32601, "Method not found: "));
	asked(MSG("\"id\":1,\"method\":\"Ping\""), ERR("1", -32601, "Method not found: Ping"));
	asked(MSG("\"id\":1,\"method\":\"ping\\u0000\""),
		ERR("1", -32601, "Method not found: ping"));
}

static void test_a_long_name_is_quoted_in_part(void **state)
{
	char text[2000], name[1001];
	const char *at;

	(void)state;
	memset(name, 'm', 1000);
	name[1000] = '\0';
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", name);
	at = strchr(ask(text), 'm') ? strstr(heard, "mmm") : NULL;
	assert_non_null(at);
	assert_int_equal(strspn(at, "m"), NAME_SHOWN_MAX);
}

/* --- silence --- */

static void test_notifications_are_never_answered(void **state)
{
	(void)state;
	says_nothing(MSG("\"method\":\"notifications/initialized\""));
	says_nothing(MSG("\"method\":\"no/such/thing\",\"params\":7"));
	says_nothing(MSG("\"method\":\"ping\""));
	says_nothing(MSG("\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}"));
	says_nothing(MSG("\"method\":\"notifications/cancelled\""));
	says_nothing(MSG("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":[]}"));
}

static void test_answers_are_never_answered(void **state)
{
	(void)state;
	says_nothing(MSG("\"id\":1,\"result\":{}"));
	says_nothing(MSG("\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}"));
}

/* --- methods --- */

#define SERVER_INFO                                                                                \
	"\"serverInfo\":{\"name\":\"sandstorm\",\"title\":\"Sandstorm "                            \
	"MCP\",\"version\":\"" SERVER_VERSION "\"}"
#define AGREED(version)                                                                            \
	OK("1", "{\"protocolVersion\":\"" version "\"," SERVER_INFO                                \
		",\"capabilities\":{\"tools\":{}},"                                                \
		"\"instructions\":\"Do as you like.\"}")
#define INITIALIZE(version)                                                                        \
	MSG("\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" version "}")

static void test_initialize_agrees_on_the_legacy_revision_asked_for(void **state)
{
	(void)state;
	asked(INITIALIZE("\"2024-11-05\""), AGREED("2024-11-05"));
	assert_string_equal(peer_era->version, "2024-11-05");
	asked(INITIALIZE("\"2025-03-26\""), AGREED("2025-03-26"));
	asked(INITIALIZE("\"2025-06-18\""), AGREED("2025-06-18"));
	asked(INITIALIZE("\"2025-11-25\""), AGREED("2025-11-25"));
}

static void test_initialize_answers_any_other_revision_with_the_newest_legacy_one(void **state)
{
	(void)state;
	asked(INITIALIZE("\"2026-07-28\""), AGREED("2025-11-25"));
	asked(INITIALIZE("\"1999-01-01\""), AGREED("2025-11-25"));
	asked(INITIALIZE("\"\""), AGREED("2025-11-25"));
}

static void test_initialize_must_name_a_revision(void **state)
{
	(void)state;
	asked(INITIALIZE("7"), ERR("1", -32602, "initialize needs protocolVersion, a string"));
	asked(MSG("\"id\":1,\"method\":\"initialize\""),
		ERR("1", -32602, "initialize needs protocolVersion, a string"));
}

static void test_the_list_has_one_page(void **state)
{
	(void)state;
	assert_non_null(strstr(
		ask(MSG("\"id\":1,\"method\":\"tools/list\"")), "{\"tools\":[{\"name\":\"echo\""));
	assert_null(strstr(heard, "nextCursor"));
	assert_null(strstr(heard, "ttlMs"));
	asked(MSG("\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\"}"),
		ERR("1", -32602, "Unknown cursor: the list has one page"));
	assert_non_null(
		strstr(ask(MSG("\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":null}")),
			"echo"));
}

static void test_a_call_must_name_a_known_tool(void **state)
{
	(void)state;
	asked(CALL("1", "no_such_tool", "{}"), ERR("1", -32602, "Unknown tool: no_such_tool"));
	asked(CALL("1", "Echo", "{}"), ERR("1", -32602, "Unknown tool: Echo"));
	asked(MSG("\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":3}"),
		ERR("1", -32602, "tools/call needs name, a string"));
	asked(MSG("\"id\":1,\"method\":\"tools/call\""),
		ERR("1", -32602, "tools/call needs name, a string"));
}

static void test_arguments_must_be_an_object_or_absent(void **state)
{
	(void)state;
	asked(CALL("1", "fail", "[]"), ERR("1", -32602, "arguments must be an object"));
	asked(CALL("1", "fail", "\"{}\""), ERR("1", -32602, "arguments must be an object"));
	asked(CALL("1", "parts", "null"),
		OK("1", "{\"content\":[{\"type\":\"text\",\"text\":\"caf\xc3\xa9 \xef\xbf\xbd\"},"
			"{\"type\":\"text\",\"text\":\"a note of 2 parts\"}],\"isError\":false}"));
	asked(MSG("\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\"}"),
		OK("1", FAIL_RESULT("fail: it \\\"failed\\\"\\n")));
}

static void test_a_failure_takes_back_what_was_begun(void **state)
{
	(void)state;
	asked(CALL("1", "fail", "{}"), OK("1", FAIL_RESULT("fail: it \\\"failed\\\"\\n")));
}

static void test_structured_results_repeat_the_text_to_the_last_character(void **state)
{
	(void)state;
	tools_setup("/", true);
	asked(CALL("1", "parts", "{}"),
		OK("1", "{\"content\":[{\"type\":\"text\",\"text\":\"caf\xc3\xa9 \xef\xbf\xbd\"},"
			"{\"type\":\"text\",\"text\":\"a note of 2 parts\"}],"
			"\"structuredContent\":{\"result\":\"caf\xc3\xa9 "
			"\xef\xbf\xbd\"},\"isError\":false}"));
	asked(CALL("1", "echo", "{\"text\":\"\"}"),
		OK("1", "{\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"structuredContent\":{"
			"\"result\":\"\"},"
			"\"isError\":false}"));
	asked(CALL("1", "fail", "{}"), OK("1", FAIL_RESULT("fail: it \\\"failed\\\"\\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_not_json_is_a_parse_error_without_id),
		TEST(test_white_space_around_a_message_is_nothing),
		TEST(test_what_is_no_object_is_no_message),
		TEST(test_json_that_is_too_deep_or_has_too_many_values_is_refused),
		TEST(test_a_text_that_was_too_long_is_told),
		TEST(test_a_text_that_found_no_memory_is_told),
		TEST(test_an_id_comes_back_as_it_was_written),
		TEST(test_what_is_no_id_is_refused_without_one),
		TEST(test_an_id_has_a_longest_form),
		TEST(test_a_message_must_say_that_it_is_json_rpc_2),
		TEST(test_a_method_must_be_a_string),
		TEST(test_a_member_that_stands_twice_is_refused),
		TEST(test_params_must_be_an_object_or_absent),
		TEST(test_unknown_methods_are_told_by_name),
		TEST(test_a_long_name_is_quoted_in_part),
		TEST(test_notifications_are_never_answered),
		TEST(test_answers_are_never_answered),
		TEST(test_initialize_agrees_on_the_legacy_revision_asked_for),
		TEST(test_initialize_answers_any_other_revision_with_the_newest_legacy_one),
		TEST(test_initialize_must_name_a_revision),
		TEST(test_the_list_has_one_page),
		TEST(test_a_call_must_name_a_known_tool),
		TEST(test_arguments_must_be_an_object_or_absent),
		TEST(test_a_failure_takes_back_what_was_begun),
		TEST(test_structured_results_repeat_the_text_to_the_last_character),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
