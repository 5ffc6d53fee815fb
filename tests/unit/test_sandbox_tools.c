/*
 * The sandbox tools that are one request, or one and a look: what the master is asked, what the
 * client is told, what is refused before anything is sent.
 */
#include "master_peer.h"

#define ID "{\"sandbox_id\":\"sb-1\"}"
#define PROOF "\"sandbox_id\":\"sb-1\",\"sandbox_token\":\"" BOX_TOKEN "\""

/* --- results --- */

static void test_a_list_is_one_block_and_the_result_of_structured_content(void **state)
{
	(void)state;
	PLAYS({ 200, " [ {\"id\": 18446744073709551616} , \"py\" ] " }, { 200, "[]" });
	assert_non_null(strstr(ask(CALL_OF("list_templates", "{}")),
		"{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"id\\\":18446744073709551616},"
		"\\\"py\\\"]\"}],\"structuredContent\":{\"result\":[{\"id\":18446744073709551616},"
		"\"py\"]},\"isError\":false}"));
	says("list_snapshots", "{}", "[]");
	asked_for("GET /v1/templates \nGET /v1/snapshots \n");
}

static void test_a_list_may_stand_in_an_object(void **state)
{
	(void)state;
	PLAYS({ 200, "{\"items\":[1],\"next\":null}" }, { 200, "{\"a\":[],\"b\":[]}" },
		{ 200, "{\"a\":1}" }, { 200, "\"x\"" }, { 204, NULL });
	says("list_sandboxes", "{}", "[1]");
	fails("list_sandboxes", "{}",
		"invalid reply from the master: it is no list; it begins "
		"\"{\\\"a\\\":[],\\\"b\\\":[]}\"");
	fails("list_sandboxes", "{}",
		"invalid reply from the master: it is no list; it begins \"{\\\"a\\\":1}\"");
	fails("list_sandboxes", "{}",
		"invalid reply from the master: it is no list; it begins \"\\\"x\\\"\"");
	fails("list_sandboxes", "{}",
		"invalid reply from the master: it is no list; it begins \"\"");
}

static void test_an_object_passes_unchanged(void **state)
{
	(void)state;
	PLAYS({ 200, "{\"id\":\"sb-1\",\"n\":1.50,\"x\":{\"y\":[null]}}" });
	assert_non_null(strstr(ask(CALL_OF("get_sandbox", ID)),
		"\"structuredContent\":{\"id\":\"sb-1\",\"n\":1.50,\"x\":{\"y\":[null]}},"
		"\"isError\":false"));
	asked_for("GET /v1/sandboxes/sb-1 \n");
}

static void test_what_is_gone_is_told_by_us(void **state)
{
	(void)state;
	PLAYS({ 204, NULL }, { 200, "{\"whatever\":1}" }, { 204, NULL });
	says("kill_sandbox", ID, "{\"id\":\"sb-1\",\"killed\":true}");
	says("delete_snapshot", "{\"tag\":\"a/b\"}", "{\"tag\":\"a/b\",\"deleted\":true}");
	says("ping_sandbox", ID, "{\"ok\":true}");
	asked_for("DELETE /v1/sandboxes/sb-1 \nDELETE /v1/snapshots/a%2Fb \n"
		  "POST /v1/sandboxes/sb-1/ping \n");
}

static void test_touch_without_an_answer_is_followed_by_a_look(void **state)
{
	(void)state;
	PLAYS({ 204, NULL }, { 200, "{\"id\":\"sb-1\"}" }, { 200, "{\"hot\":true}" });
	says("touch_sandbox", ID, "{\"id\":\"sb-1\"}");
	says("touch_sandbox", ID, "{\"hot\":true}");
	asked_for("POST /v1/sandboxes/sb-1/touch {}\nGET /v1/sandboxes/sb-1 \n"
		  "POST /v1/sandboxes/sb-1/touch {}\n");
}

static void test_a_branch_while_another_runs_is_told_as_busy(void **state)
{
	(void)state;
	PLAYS({ 404, "{\"error\":\"sandbox not found\"}" }, { 200, "{\"id\":\"sb-1\"}" },
		{ 404, "{\"error\":\"sandbox not found\"}" }, { 404, "{\"error\":\"none\"}" });
	fails("branch_sandbox", "{\"sandbox_id\":\"sb-1\",\"tag\":\"t\"}",
		"POST /v1/sandboxes/sb-1/branch answered 404 Bad: sandbox not found; the sandbox "
		"is "
		"busy (another branch is running?)");
	fails("branch_sandbox", "{\"sandbox_id\":\"sb-1\",\"mode\":\"full\",\"wait\":false}",
		"POST /v1/sandboxes/sb-1/branch answered 404 Bad: sandbox not found");
	asked_for("POST /v1/sandboxes/sb-1/branch {\"tag\":\"t\"}\nGET /v1/sandboxes/sb-1 \n"
		  "POST /v1/sandboxes/sb-1/branch {\"mode\":\"full\",\"wait\":false}\n"
		  "GET /v1/sandboxes/sb-1 \n");
}

/* --- exec and eval --- */

static void test_exec_sends_its_words_and_always_a_time_limit(void **state)
{
	(void)state;
	PLAYS({ 200, "{\"exit_code\":0}" }, { 200, "{\"exit_code\":0}" }, { 200, "{}" });
	says("exec_command", "{" PROOF ",\"args\":[\"a b\",\"$(c)\\n\\u0001\"]}",
		"{\"exit_code\":0}");
	assert_int_equal(limit_of_last, 45000);
	says("exec_command",
		"{" PROOF ",\"args\":\"[\\\"sh\\\",\\\"-c\\\"]\",\"timeout_secs\":\"120\"}",
		"{\"exit_code\":0}");
	assert_int_equal(limit_of_last, 135000);
	says("eval_code", "{" PROOF ",\"code\":\"1+1\",\"timeout_secs\":null,\"other\":1}", "{}");
	assert_int_equal(limit_of_last, 75000);
	asked_for("POST /v1/sandboxes/sb-1/exec {\"args\":[\"a b\",\"$(c)\\n\\u0001\"],"
		  "\"timeout_secs\":30}\n"
		  "POST /v1/sandboxes/sb-1/exec {\"args\":[\"sh\",\"-c\"],\"timeout_secs\":120}\n"
		  "POST /v1/sandboxes/sb-1/eval {\"code\":\"1+1\"}\n");
}

static void test_long_output_is_cut_and_told(void **state)
{
	char body[1000], x[401];

	(void)state;
	master_with(API_TOKEN, 64);
	memset(x, 'x', 400);
	x[400] = '\0';
	snprintf(body, sizeof(body), "{\"stdout\":\"%s\",\"exit_code\":7}", x);
	PLAYS({ 200, body });
	says("exec_command", "{" PROOF ",\"args\":[\"x\"]}",
		"{\"stdout\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n[... 336 bytes omitted ...]\\n"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"exit_code\":7,\"truncated\":{\"stdout\":400}"
		"}");
}

static void test_a_command_that_may_have_been_stopped_gets_a_hint(void **state)
{
	(void)state;
	PLAYS({ 200, "{\"exit_code\":1}", .after_ms = 1010 }, { 200, "{\"exit_code\":1}" },
		{ 200, "{\"exit_code\":0}", .after_ms = 1010 });
	says("exec_command", "{" PROOF ",\"args\":[\"x\"],\"timeout_secs\":1}",
		"{\"exit_code\":1,\"hint\":\"the command may have been stopped by timeout_secs\"}");
	says("exec_command", "{" PROOF ",\"args\":[\"x\"],\"timeout_secs\":1}",
		"{\"exit_code\":1}");
	says("exec_command", "{" PROOF ",\"args\":[\"x\"],\"timeout_secs\":1}",
		"{\"exit_code\":0}");
}

/* --- tokens --- */

static void test_the_sandboxs_token_goes_where_it_is_needed_alone(void **state)
{
	(void)state;
	note_fields = true;
	PLAYS({ 200, "{}" }, { 200, "{}" }, { 200, "{}" });
	ask(CALL_OF("ping_sandbox", "{" PROOF "}"));
	asked_for("POST /v1/sandboxes/sb-1/ping \nAuthorization: Bearer " API_TOKEN
		  "\r\nx-sandstorm-sandbox-token: " BOX_TOKEN "\r\n");
	ask(CALL_OF("get_sandbox", "{" PROOF "}"));
	asked_for("GET /v1/sandboxes/sb-1 \nAuthorization: Bearer " API_TOKEN "\r\n");
	master_with("", 64 * KIB);
	ask(CALL_OF("ping_sandbox", ID));
	asked_for("POST /v1/sandboxes/sb-1/ping \n");
}

static void test_refused_tokens_are_told_with_the_remedy(void **state)
{
	(void)state;
	PLAYS({ 401, "{\"error\":\"no\"}" }, { 403, "{\"error\":\"no\"}" }, { 401, "" },
		{ 401, "" });
	fails("ping_sandbox", ID,
		"POST /v1/sandboxes/sb-1/ping answered 401 Bad: no; sandbox_token is missing: pass "
		"the token that spawn_sandboxes returned for this sandbox");
	fails("ping_sandbox", "{" PROOF "}",
		"POST /v1/sandboxes/sb-1/ping answered 403 Bad: no; the API token or the sandbox "
		"token was refused");
	fails("list_sandboxes", "{}",
		"GET /v1/sandboxes answered 401 Bad; the API token or the sandbox token was "
		"refused");
	master_with("", 64 * KIB);
	fails("ping_sandbox", ID,
		"POST /v1/sandboxes/sb-1/ping answered 401 Bad; SANDSTORM_TOKEN is not set");
}

static void test_no_error_holds_a_token(void **state)
{
	(void)state;
	PLAYS({ 500, "{\"error\":\"x " API_TOKEN "," BOX_TOKEN "!\\u0000\\nend\"}" },
		{ 500, "got " BOX_TOKEN, .type = "text/plain" },
		{ 302, "", .location = "https://x/" API_TOKEN },
		{ 200, "<p>" BOX_TOKEN " and " API_TOKEN });
	fails("ping_sandbox", "{" PROOF "}",
		"POST /v1/sandboxes/sb-1/ping answered 500 Worse: x ***,***!  end");
	fails("ping_sandbox", "{" PROOF "}",
		"POST /v1/sandboxes/sb-1/ping answered 500 Worse: got ***");
	fails("ping_sandbox", "{" PROOF "}",
		"POST /v1/sandboxes/sb-1/ping answered 302 Found; redirects are not followed (to "
		"https://x/***)");
	fails("ping_sandbox", "{" PROOF "}",
		"invalid reply from the master: it is not JSON; it begins \"<p>***\"");
}

/* --- errors --- */

static void test_what_the_master_says_of_an_error_is_told(void **state)
{
	(void)state;
	PLAYS({ 409, "{\"error\":{\"code\":7,\"message\":\"in use\"}}" },
		{ 400, "{\"message\":\"bad\"}" }, { 422, "{\"detail\":[{\"msg\":\"x\"}]}" },
		{ 415, " plain \n", .type = "text/plain; charset=utf-8" },
		{ 500, "<html>", .type = "text/html" }, { 500, "{\"code\":1}" }, { 500, NULL });
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 409 Bad: in use");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 400 Bad: bad");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 422 Bad: [{\"msg\":\"x\"}]");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 415 Bad: plain");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 500 Worse");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 500 Worse");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 500 Worse");
}

static void test_a_master_that_is_busy_is_asked_again_later(void **state)
{
	(void)state;
	PLAYS({ 503, "{\"error\":\"full\"}", .retry_after = "7" }, { 429, "" });
	fails("get_sandbox", ID,
		"GET /v1/sandboxes/sb-1 answered 503 Worse: full; retry later (Retry-After: 7)");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 429 Bad; retry later");
}

static void test_a_route_that_is_not_there_is_told_with_the_masters_version(void **state)
{
	(void)state;
	PLAYS({ 404, "" }, { 200, "{\"version\":\"0.5.3\",\"api\":\"v1\"}" },
		{ 405, "no", .type = "text/plain" }, { 404, "{\"error\":\"no such sandbox\"}" });
	fails("list_templates", "{}",
		"GET /v1/templates answered 404 Bad: this master (version 0.5.3) has no route GET "
		"/v1/templates; SANDSTORM_ROUTES can name another");
	fails("touch_sandbox", ID,
		"POST /v1/sandboxes/sb-1/touch answered 405 Bad: this master (version 0.5.3) has "
		"no "
		"route POST /v1/sandboxes/{id}/touch; SANDSTORM_ROUTES can name another");
	fails("get_sandbox", ID, "GET /v1/sandboxes/sb-1 answered 404 Bad: no such sandbox");
	asked_for("GET /v1/templates \nGET /version \nPOST /v1/sandboxes/sb-1/touch {}\n"
		  "GET /v1/sandboxes/sb-1 \n");
}

static void test_what_may_go_on_without_us_is_told(void **state)
{
	(void)state;
	PLAYS({ .failure = HTTP_CALL_TIMEOUT }, { .failure = HTTP_CALL_CLOSED });
	fails("exec_command", "{" PROOF ",\"args\":[\"x\"]}",
		"it did not work; the operation may still be running on the master");
	fails("get_sandbox", ID, "it did not work");
}

static void test_replies_that_are_none(void **state)
{
	static char deep[200];

	(void)state;
	memset(deep, '[', sizeof(deep) - 1);
	PLAYS({ 200, deep }, { 200, "{\"a\":1" }, { 200, "[]" });
	fails("get_sandbox", ID,
		"invalid reply from the master: it is nested too deeply; it begins "
		"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"");
	fails("get_sandbox", ID,
		"invalid reply from the master: it is not JSON; it begins \"{\\\"a\\\":1\"");
	fails("get_sandbox", ID,
		"invalid reply from the master: it is no object; it begins \"[]\"");
}

static void test_a_list_that_is_too_long_is_an_error_that_says_so(void **state)
{
	static char list[2 * MIB + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(list) - 2; i += 2)
		memcpy(list + i, i ? ",1" : "[1", 2);
	PLAYS({ 200, list });
	fails("list_sandboxes", "{}",
		"the master's answer to GET /v1/sandboxes is over the limit of 1 MiB");
}

/* --- arguments --- */

static void test_an_id_reaches_the_master_as_one_segment(void **state)
{
	(void)state;
	PLAYS({ 200, "{}" });
	ask(CALL_OF("get_sandbox", "{\"sandbox_id\":\"../a?b#c%d \\u00e9\"}"));
	asked_for("GET /v1/sandboxes/..%2Fa%3Fb%23c%25d%20%C3%A9 \n");
}

static void test_bad_arguments_are_told_by_name_and_nothing_is_sent(void **state)
{
	(void)state;
	fails("get_sandbox", "{}", "argument sandbox_id: required");
	fails("get_sandbox", "{\"sandbox_id\":null}", "argument sandbox_id: must be a string");
	fails("get_sandbox", "{\"sandbox_id\":\"\"}", "argument sandbox_id: must not be empty");
	fails("get_sandbox", "{\"sandbox_id\":\".\"}", "argument sandbox_id: must not be . or ..");
	fails("delete_snapshot", "{\"tag\":\"..\"}", "argument tag: must not be . or ..");
	fails("branch_sandbox", "{\"sandbox_id\":\"x\",\"tag\":\"a/b\"}",
		"argument tag: may have letters, digits, _ and - only");
	fails("ping_sandbox", "{\"sandbox_id\":\"x\",\"sandbox_token\":\"a\\r\\nb: c\"}",
		"argument sandbox_token: must be printable ASCII without blanks");
	fails("ping_sandbox", "{\"sandbox_id\":\"x\",\"sandbox_token\":\"\"}",
		"argument sandbox_token: must not be empty");
	fails("exec_command", "{\"sandbox_id\":\"x\",\"args\":\"ls -l\"}",
		"argument args: must be an array of strings, as in [\"sh\",\"-c\",\"...\"]");
	fails("exec_command", "{\"sandbox_id\":\"x\",\"args\":[]}",
		"argument args: must not be empty");
	fails("exec_command", "{\"sandbox_id\":\"x\",\"args\":[\"a\"],\"timeout_secs\":0}",
		"argument timeout_secs: must be between 1 and 3600");
	fails("eval_code", "{\"sandbox_id\":\"x\",\"code\":\"\"}",
		"argument code: must not be empty");
	fails("spawn_sandboxes", "{}",
		"argument template: give either template or tag, and not both");
	fails("spawn_sandboxes", "{\"template\":\"a\",\"snapshot_tag\":\"b\"}",
		"argument template: give either template or tag, and not both");
	fails("wait_for_text", "{\"sandbox_id\":\"x\",\"path\":\"a\",\"marker\":\"m\"}",
		"argument path: must be absolute, beginning with /");
	fails("wait_for_text", "{\"sandbox_id\":\"x\",\"path\":\"/a\",\"marker\":\"\"}",
		"argument marker: must not be empty");
	asked_for("");
}

/* --- cancelling --- */

static void test_a_cancelled_call_is_closed_at_once_and_not_answered(void **state)
{
	(void)state;
	PLAYS({ .after_ms = NEVER });
	send_text(CALL_OF("exec_command", "{" PROOF ",\"args\":[\"x\"]}"));
	run_for(5);
	assert_int_equal(under_way, 1);
	send_text(CANCEL);
	run_for(5);
	assert_int_equal(aborted, 1);
	assert_int_equal(under_way, 0);
	assert_int_equal(job_count(), 0);
	assert_string_equal(heard, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_a_list_is_one_block_and_the_result_of_structured_content,
			master_new_client),
		cmocka_unit_test_setup(test_a_list_may_stand_in_an_object, master_new_client),
		cmocka_unit_test_setup(test_an_object_passes_unchanged, master_new_client),
		cmocka_unit_test_setup(test_what_is_gone_is_told_by_us, master_new_client),
		cmocka_unit_test_setup(
			test_touch_without_an_answer_is_followed_by_a_look, master_new_client),
		cmocka_unit_test_setup(
			test_a_branch_while_another_runs_is_told_as_busy, master_new_client),
		cmocka_unit_test_setup(
			test_exec_sends_its_words_and_always_a_time_limit, master_new_client),
		cmocka_unit_test_setup(test_long_output_is_cut_and_told, master_new_client),
		cmocka_unit_test_setup(
			test_a_command_that_may_have_been_stopped_gets_a_hint, master_new_client),
		cmocka_unit_test_setup(
			test_the_sandboxs_token_goes_where_it_is_needed_alone, master_new_client),
		cmocka_unit_test_setup(
			test_refused_tokens_are_told_with_the_remedy, master_new_client),
		cmocka_unit_test_setup(test_no_error_holds_a_token, master_new_client),
		cmocka_unit_test_setup(
			test_what_the_master_says_of_an_error_is_told, master_new_client),
		cmocka_unit_test_setup(
			test_a_master_that_is_busy_is_asked_again_later, master_new_client),
		cmocka_unit_test_setup(
			test_a_route_that_is_not_there_is_told_with_the_masters_version,
			master_new_client),
		cmocka_unit_test_setup(test_what_may_go_on_without_us_is_told, master_new_client),
		cmocka_unit_test_setup(test_replies_that_are_none, master_new_client),
		cmocka_unit_test_setup(
			test_a_list_that_is_too_long_is_an_error_that_says_so, master_new_client),
		cmocka_unit_test_setup(
			test_an_id_reaches_the_master_as_one_segment, master_new_client),
		cmocka_unit_test_setup(
			test_bad_arguments_are_told_by_name_and_nothing_is_sent, master_new_client),
		cmocka_unit_test_setup(test_a_cancelled_call_is_closed_at_once_and_not_answered,
			master_new_client),
	};

	return cmocka_run_group_tests(tests, master_begin, NULL);
}
