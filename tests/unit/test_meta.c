/*
 * Both eras: which one a message belongs to, what a modern one must carry, what its answer carries.
 */
#include "peer.h"

#include "version.h"

#define P "io.modelcontextprotocol/"
#define VERSION "\"" P "protocolVersion\":\"2026-07-28\""
#define CAPABILITIES "\"" P "clientCapabilities\":{}"
#define MODERN "\"_meta\":{" VERSION "," CAPABILITIES "}"
#define SERVED_BY                                                                                  \
	"\"_meta\":{\"" P "serverInfo\":{\"name\":\"sandstorm\",\"version\":\"" SERVER_VERSION     \
	"\"}}"
#define ALL_VERSIONS "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]"

#define WITH(method, params) MSG("\"id\":1,\"method\":\"" method "\",\"params\":{" params "}")

/* --- the era --- */

static void test_meta_with_a_version_makes_a_message_modern_whatever_it_asks(void **state)
{
	(void)state;
	asked(WITH("ping", MODERN), ERR("1", -32601, "Method not found: ping"));
	asked(WITH("initialize", "\"protocolVersion\":\"2025-06-18\"," MODERN),
		ERR("1", -32601, "Method not found: initialize"));
	asked(WITH("logging/setLevel", MODERN),
		ERR("1", -32601, "Method not found: logging/setLevel"));
}

static void test_without_a_version_a_message_is_legacy(void **state)
{
	(void)state;
	asked(WITH("ping", "\"_meta\":{}"), OK("1", "{}"));
	asked(WITH("ping", "\"_meta\":7"), OK("1", "{}"));
	asked(WITH("ping", "\"_meta\":{" CAPABILITIES ",\"progressToken\":1}"), OK("1", "{}"));
	asked(WITH("subscriptions/listen", ""),
		ERR("1", -32601, "Method not found: subscriptions/listen"));
}

static void test_both_eras_are_served_one_beside_the_other(void **state)
{
	(void)state;
	asked(WITH("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}," MODERN),
		OK("1", "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":"
			"\"a\"}],"
			"\"isError\":false," SERVED_BY "}"));
	asked(WITH("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}"),
		OK("1", TEXT_RESULT("a")));
	assert_non_null(strstr(
		ask(WITH("initialize", "\"protocolVersion\":\"2025-06-18\"")), "2025-06-18"));
	assert_non_null(strstr(ask(WITH("server/discover", MODERN)), "complete"));
	asked(WITH("ping", ""), OK("1", "{}"));
}

static void test_discover_is_modern_even_without_meta(void **state)
{
	(void)state;
	asked(MSG("\"id\":1,\"method\":\"server/discover\""),
		ERR("1", -32602, "_meta needs \\\"" P "protocolVersion\\\", a string"));
}

/* --- what a modern message must carry --- */

static void test_a_modern_message_needs_version_and_capabilities(void **state)
{
	(void)state;
	asked(WITH("tools/list", "\"_meta\":{\"" P "protocolVersion\":20260728," CAPABILITIES "}"),
		ERR("1", -32602, "_meta needs \\\"" P "protocolVersion\\\", a string"));
	asked(WITH("tools/list", "\"_meta\":{\"" P "protocolVersion\":null," CAPABILITIES "}"),
		ERR("1", -32602, "_meta needs \\\"" P "protocolVersion\\\", a string"));
	asked(WITH("tools/list", "\"_meta\":{" VERSION "}"),
		ERR("1", -32602, "_meta needs \\\"" P "clientCapabilities\\\", an object"));
	asked(WITH("tools/list", "\"_meta\":{" VERSION ",\"" P "clientCapabilities\":[]}"),
		ERR("1", -32602, "_meta needs \\\"" P "clientCapabilities\\\", an object"));
}

static void test_any_other_version_is_refused_with_those_that_are_served(void **state)
{
	static const char *const versions[] = { "2025-11-25", "2031-01-01", "", "2026-07-28 " };
	char text[300], want[400];

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		snprintf(text, sizeof(text),
			WITH("tools/list",
				"\"_meta\":{\"" P "protocolVersion\":\"%s\"," CAPABILITIES "}"),
			versions[i]);
		snprintf(want, sizeof(want),
			MSG("\"id\":1,\"error\":{\"code\":-32022,\"message\":\"Unsupported "
			    "protocol version\",\"data\":"
			    "{\"supported\":" ALL_VERSIONS ",\"requested\":\"%s\"}}") "\n",
			versions[i]);
		assert_string_equal(ask(text), want);
	}
}

static void test_a_log_level_must_be_one(void **state)
{
	(void)state;
	asked(WITH("tools/list",
		      "\"_meta\":{" VERSION "," CAPABILITIES ",\"" P "logLevel\":\"loud\"}"),
		ERR("1", -32602, "_meta needs \\\"" P "logLevel\\\", a log level"));
	assert_non_null(strstr(ask(WITH("tools/list", "\"_meta\":{" VERSION "," CAPABILITIES ",\"" P
						      "logLevel\":\"emergency\"}")),
		"\"result\""));
}

static void test_nothing_else_in_meta_matters(void **state)
{
	(void)state;
	assert_non_null(
		strstr(ask(WITH("tools/list", "\"_meta\":{\"" P
					      "clientInfo\":7,\"traceparent\":[],\"x\":{}," VERSION
					      "," CAPABILITIES "}")),
			"\"result\""));
}

static void test_a_member_of_meta_that_stands_twice_is_refused(void **state)
{
	(void)state;
	asked(WITH("tools/list", "\"_meta\":{" VERSION "," VERSION "," CAPABILITIES "}"),
		ERR("1", -32602, "A member of _meta stands twice"));
	asked(WITH("tools/list", MODERN "," MODERN),
		ERR("1", -32602, "A member of _meta stands twice"));
}

static void test_names_in_meta_may_be_written_with_escapes(void **state)
{
	(void)state;
	assert_non_null(strstr(
		ask(WITH("tools/list", "\"_meta\":{\"io.modelcontextprotocol\\/protocolVersion\":"
				       "\"2026\\u002d07-28\"," CAPABILITIES "}")),
		"complete"));
}

static void test_a_batch_cannot_hold_modern_messages(void **state)
{
	(void)state;
	peer_batch = true;
	asked("[" WITH("tools/list", MODERN) "," WITH("ping", "") "]",
		"[" ERR("1", -32600, "A batch cannot hold messages of revision 2026-07-28") "," OK(
			"1", "{}") "]");
}

static void test_modern_notifications_need_no_meta_and_get_no_answer(void **state)
{
	(void)state;
	says_nothing(MSG(
		"\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1," MODERN "}"));
	says_nothing(
		MSG("\"method\":\"notifications/cancelled\",\"params\":{\"_meta\":{" VERSION "}}"));
}

/* --- what modern answers carry --- */

static void test_discover_tells_versions_and_how_long_they_hold(void **state)
{
	(void)state;
	asked(WITH("server/discover", MODERN),
		OK("1", "{\"resultType\":\"complete\",\"supportedVersions\":" ALL_VERSIONS
			",\"capabilities\":{\"tools\":{}},"
			"\"instructions\":\"Do as you "
			"like.\",\"ttlMs\":300000,\"cacheScope\":\"private\"," SERVED_BY "}"));
}

static void test_a_modern_list_tells_how_long_it_holds(void **state)
{
	static const char begin[] =
		OK("1", "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"echo\"");
	static const char end[] = "],\"ttlMs\":300000,\"cacheScope\":\"private\"," SERVED_BY "}}\n";

	(void)state;
	ask(WITH("tools/list", MODERN));
	assert_memory_equal(heard, begin, strlen(begin) - 1); /* without the last brace */
	assert_string_equal(heard + strlen(heard) - strlen(end), end);
}

static void test_a_subscription_is_acknowledged_and_ends_at_once(void **state)
{
	(void)state;
	asked(MSG("\"id\":\"s\",\"method\":\"subscriptions/"
		  "listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true}," MODERN "}"),
		MSG("\"method\":\"notifications/subscriptions/"
		    "acknowledged\",\"params\":{\"notifications\":{},\"_meta\":{\"" P
		    "subscriptionId\":\"s\"}}") "\n" OK("\"s\"",
			"{\"resultType\":\"complete\",\"_meta\":{\"" P
			"serverInfo\":{\"name\":\"sandstorm\",\"version\":\"" SERVER_VERSION
			"\"},\"" P "subscriptionId\":\"s\"}}"));
}

static void test_errors_of_both_eras_look_the_same(void **state)
{
	(void)state;
	asked(WITH("tools/call", "\"name\":\"nothing\"," MODERN),
		ERR("1", -32602, "Unknown tool: nothing"));
	asked(WITH("tools/call", "\"name\":\"nothing\""),
		ERR("1", -32602, "Unknown tool: nothing"));
}

/* --- what a transport has to say about it --- */

static struct slice seen_version, seen_method;
static bool version_ok, method_ok;

static bool check_version(struct job *j, struct slice version)
{
	seen_version = version;
	if (!version_ok)
		rpc_error(j, RPC_HEADER, "version");
	return version_ok;
}

static bool check_method(struct job *j, struct slice method)
{
	seen_method = method;
	if (!method_ok)
		rpc_error(j, RPC_HEADER, "method");
	return method_ok;
}

static const char *ask_checked(const char *text, bool modern)
{
	static const struct sink sink = {
		.reply = peer_reply,
		.check_version = check_version,
		.check_method = check_method,
	};
	struct job *j = job_new(&sink, heard);

	heard[0] = '\0';
	seen_version = seen_method = (struct slice){ 0 };
	j->modern = modern;
	assert_true(send_in(j, slice_of(text)));
	run_tasks();
	return heard;
}

#define checked(text, modern, answer) assert_string_equal(ask_checked(text, modern), answer "\n")

static void test_a_transport_may_refuse_by_version_then_by_method(void **state)
{
	(void)state;
	version_ok = method_ok = true;
	assert_non_null(strstr(ask_checked(WITH("tools/list", MODERN), true), "\"result\""));
	version_ok = false;
	checked(WITH("tools/list", MODERN), true, ERR("1", -32020, "version"));
	version_ok = true;
	method_ok = false;
	checked(WITH("tools/list", MODERN), true, ERR("1", -32020, "method"));
	checked(WITH("ping", ""), false, ERR("1", -32020, "method"));
}

static void test_a_transport_that_says_modern_makes_meta_a_must(void **state)
{
	(void)state;
	version_ok = method_ok = true;
	checked(WITH("tools/list", ""), true,
		ERR("1", -32602, "_meta needs \\\"" P "protocolVersion\\\", a string"));
	checked(MSG("\"id\":1,\"method\":\"ping\""), true,
		ERR("1", -32602, "_meta needs \\\"" P "protocolVersion\\\", a string"));
}

/* A client of the old days asks a web server that way, too, and falls back on this answer. */
static void test_a_probe_without_meta_is_legacy_where_a_head_could_tell(void **state)
{
	(void)state;
	version_ok = method_ok = true;
	checked(MSG("\"id\":1,\"method\":\"server/discover\""), false,
		ERR("1", -32601, "Method not found: server/discover"));
}

static void test_modern_notifications_are_not_judged_by_the_transport(void **state)
{
	(void)state;
	version_ok = method_ok = false;
	assert_string_equal(ask_checked(MSG("\"method\":\"notifications/cancelled\""), true), "");
	assert_null(seen_method.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_meta_with_a_version_makes_a_message_modern_whatever_it_asks),
		TEST(test_without_a_version_a_message_is_legacy),
		TEST(test_both_eras_are_served_one_beside_the_other),
		TEST(test_discover_is_modern_even_without_meta),
		TEST(test_a_modern_message_needs_version_and_capabilities),
		TEST(test_any_other_version_is_refused_with_those_that_are_served),
		TEST(test_a_log_level_must_be_one),
		TEST(test_nothing_else_in_meta_matters),
		TEST(test_a_member_of_meta_that_stands_twice_is_refused),
		TEST(test_names_in_meta_may_be_written_with_escapes),
		TEST(test_a_batch_cannot_hold_modern_messages),
		TEST(test_modern_notifications_need_no_meta_and_get_no_answer),
		TEST(test_discover_tells_versions_and_how_long_they_hold),
		TEST(test_a_modern_list_tells_how_long_it_holds),
		TEST(test_a_subscription_is_acknowledged_and_ends_at_once),
		TEST(test_errors_of_both_eras_look_the_same),
		TEST(test_a_transport_may_refuse_by_version_then_by_method),
		TEST(test_a_transport_that_says_modern_makes_meta_a_must),
		TEST(test_a_probe_without_meta_is_legacy_where_a_head_could_tell),
		TEST(test_modern_notifications_are_not_judged_by_the_transport),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
