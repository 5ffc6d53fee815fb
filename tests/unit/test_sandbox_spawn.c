/*
 * spawn_sandboxes: what is asked until all run, what becomes of those that do not, and of all of
 * them when nobody is left to be told their tokens.
 */
#include "master_peer.h"

#define NEW(id) "{\"id\":\"" id "\",\"state\":\"starting\",\"token\":\"t-" id "\"}"
#define RUNS(id) "{\"id\":\"" id "\",\"state\":\"running\"}"
#define TOLD(id) "{\"id\":\"" id "\",\"state\":\"running\",\"token\":\"t-" id "\"}"
#define STARTS(id) "{\"id\":\"" id "\",\"state\":\"starting\"}"
#define GET(id) "GET /v1/sandboxes/" id " \n"
#define DELETE(id) "DELETE /v1/sandboxes/" id " \n"
#define POST(body) "POST /v1/sandboxes {" body "}\n"
#define SPAWN "spawn_sandboxes"

static void test_one_that_runs_at_once_needs_no_look(void **state)
{
	(void)state;
	PLAYS({ 201, "[{\"id\":\"a\",\"token\":\"t\"}]" }, { 201, TOLD("b") },
		{ 201, "{\"sandboxes\":[{\"id\":\"c\",\"status\":{\"state\":\"HOT\"}}]}" });
	says(SPAWN, "{\"template\":\"py\"}", "[{\"id\":\"a\",\"token\":\"t\"}]");
	says(SPAWN, "{\"template\":\"py\",\"n\":1}", "[" TOLD("b") "]");
	says(SPAWN, "{\"template\":\"py\"}", "[{\"id\":\"c\",\"status\":{\"state\":\"HOT\"}}]");
	asked_for(POST("\"template\":\"py\"") POST("\"template\":\"py\"")
			POST("\"template\":\"py\""));
}

static void test_those_that_start_are_looked_at_until_they_run(void **state)
{
	(void)state;
	PLAYS({ 201, "[" NEW("a") "," NEW("b") "]" }, { 200, STARTS("a") }, { 200, RUNS("b") },
		{ 503, "" }, { 200, "{\"id\":\"a\",\"state\":\"idle\",\"pid\":1}" });
	says(SPAWN, "{\"template\":\"py\",\"n\":2}",
		"[{\"id\":\"a\",\"state\":\"idle\",\"pid\":1,\"token\":\"t-a\"}," TOLD("b") "]");
	asked_for(POST("\"template\":\"py\",\"n\":2") GET("a") GET("b") GET("a") GET("a"));
}

static void test_a_master_that_makes_one_a_time_is_asked_for_the_rest(void **state)
{
	(void)state;
	PLAYS({ 201, TOLD("a") }, { 201, TOLD("b") }, { 201, "[" TOLD("c") "]" });
	says(SPAWN, "{\"template\":\"py\",\"n\":3}", "[" TOLD("a") "," TOLD("b") "," TOLD("c") "]");
	asked_for(POST("\"template\":\"py\",\"n\":3") POST("\"template\":\"py\",\"n\":2")
			POST("\"template\":\"py\""));
}

static void test_what_older_masters_take_is_forwarded_when_given(void **state)
{
	(void)state;
	PLAYS({ 201, TOLD("a") });
	says(SPAWN,
		"{\"template\":\"py\",\"memory_limit_mib\":\"256\",\"per_child_netns\":true,"
		"\"prewarm\":null,\"x\":1}",
		"[" TOLD("a") "]");
	asked_for(POST("\"template\":\"py\",\"memory_limit_mib\":256,\"per_child_netns\":true"));
}

/* --- the names of members: what is found out is remembered, so these tests have an order --- */

static void test_the_first_refusal_is_told_when_no_name_for_the_tag_will_do(void **state)
{
	(void)state;
	PLAYS({ 422, "{\"error\":\"first\"}" }, { 400, "{\"error\":\"second\"}" },
		{ 422, "{\"error\":\"third\"}" });
	fails(SPAWN, "{\"tag\":\"s\"}", "POST /v1/sandboxes answered 422 Bad: first");
	asked_for(POST("\"snapshot_tag\":\"s\"") POST("\"tag\":\"s\"") POST("\"snapshot\":\"s\""));
}

static void test_a_tag_that_does_not_exist_is_not_tried_by_other_names(void **state)
{
	(void)state;
	PLAYS({ 404, "{\"error\":\"no snapshot\"}" });
	fails(SPAWN, "{\"tag\":\"s\"}", "POST /v1/sandboxes answered 404 Bad: no snapshot");
}

static void test_the_name_that_the_master_takes_is_remembered(void **state)
{
	(void)state;
	PLAYS({ 422, "{\"error\":\"no\"}" }, { 201, TOLD("a") }, { 201, TOLD("b") },
		{ 400, "{\"error\":\"bad\"}" });
	says(SPAWN, "{\"tag\":\"s\"}", "[" TOLD("a") "]");
	says(SPAWN, "{\"snapshot_tag\":\"s\"}", "[" TOLD("b") "]");
	fails(SPAWN, "{\"tag\":\"s\"}", "POST /v1/sandboxes answered 400 Bad: bad");
	asked_for(POST("\"snapshot_tag\":\"s\"") POST("\"tag\":\"s\"") POST("\"tag\":\"s\"")
			POST("\"tag\":\"s\""));
}

static void test_a_bound_of_n_is_no_refusal_of_its_name(void **state)
{
	(void)state;
	PLAYS({ 400, "{\"error\":\"n must be at most 1\"}" });
	fails(SPAWN, "{\"template\":\"t\",\"n\":2}",
		"POST /v1/sandboxes answered 400 Bad: n must be at most 1");
}

static void test_a_master_that_does_not_know_n_is_asked_without_it(void **state)
{
	(void)state;
	PLAYS({ 422, "{\"error\":\"unknown field `n`\"}" }, { 201, TOLD("a") }, { 201, TOLD("b") });
	says(SPAWN, "{\"template\":\"t\",\"n\":2}", "[" TOLD("a") "," TOLD("b") "]");
	asked_for(POST("\"template\":\"t\",\"n\":2") POST("\"template\":\"t\"")
			POST("\"template\":\"t\""));
}

static void test_a_master_without_templates_gets_a_hint(void **state)
{
	(void)state;
	PLAYS({ 422, "missing field `snapshot_tag` at line 1", .type = "text/plain" });
	fails(SPAWN, "{\"template\":\"t\"}",
		"POST /v1/sandboxes answered 422 Bad: missing field `snapshot_tag` at line 1; this "
		"master cannot start from a template; give tag");
}

/* --- those that do not start --- */

static void test_what_has_failed_is_deleted_and_what_runs_is_told(void **state)
{
	(void)state;
	PLAYS({ 201, "[" NEW("a") "," NEW("b") "," NEW("c") "]" }, { 200, RUNS("a") },
		{ 200, "{\"id\":\"b\",\"status\":{\"state\":\"failed\",\"reason\":\"no " API_TOKEN
		       "\"}}" },
		{ 404, "{\"error\":\"what?\"}" }, { 404, "" });
	fails(SPAWN, "{\"template\":\"py\",\"n\":3}",
		"2 of 3 sandboxes did not start\n{\"started\":[" TOLD(
			"a") "],\"failed\":["
			     "{\"id\":\"b\",\"reason\":\"no ***\",\"removed\":true},"
			     "{\"id\":\"c\",\"reason\":\"gone: the master does not know it any "
			     "more\","
			     "\"removed\":true}]}");
	asked_for(POST("\"template\":\"py\",\"n\":3") GET("a") GET("b") GET("c") DELETE("b"));
}

static void test_one_that_is_late_is_deleted(void **state)
{
	(void)state;
	PLAYS({ 201, NEW("a") }, { 200, STARTS("a") }, { 200, STARTS("a") },
		{ 200, "{\"state\":\"starting\",\"reason\":\"no memory yet\"}" },
		{ 503, "{\"error\":\"full\"}" }, { 500, "" });
	fails(SPAWN, "{\"template\":\"py\",\"start_timeout_secs\":1}",
		"1 of 1 sandboxes did not start\n{\"started\":[],\"failed\":[{\"id\":\"a\","
		"\"reason\":\"did not start within 1 s; looking at it failed: GET /v1/sandboxes/a "
		"answered 503 Worse: full; retry later; the master says: no memory yet\","
		"\"removed\":false}]}");
	asked_for(POST("\"template\":\"py\"") GET("a") GET("a") GET("a") GET("a") DELETE("a"));
}

static void test_a_refusal_while_looking_ends_the_call(void **state)
{
	(void)state;
	PLAYS({ 201, "[" NEW("a") "," NEW("b") "]" }, { 401, "{\"error\":\"no\"}" }, { 204, NULL },
		{ 204, NULL });
	fails(SPAWN, "{\"template\":\"py\",\"n\":2}",
		"2 of 2 sandboxes did not start\n{\"started\":[],\"failed\":["
		"{\"id\":\"a\",\"reason\":\"GET /v1/sandboxes/a answered 401 Bad: no; the API "
		"token "
		"or the sandbox token was refused\",\"removed\":true},"
		"{\"id\":\"b\",\"reason\":\"GET /v1/sandboxes/a answered 401 Bad: no; the API "
		"token "
		"or the sandbox token was refused\",\"removed\":true}]}");
}

static void test_what_was_made_before_an_error_is_not_lost(void **state)
{
	(void)state;
	PLAYS({ 201, TOLD("a") }, { 500, "{\"error\":\"no room\"}" });
	fails(SPAWN, "{\"template\":\"py\",\"n\":3}",
		"2 of 3 sandboxes did not start\n{\"started\":[" TOLD(
			"a") "],\"failed\":["
			     "{\"id\":null,\"reason\":\"POST /v1/sandboxes answered 500 Worse: no "
			     "room\","
			     "\"removed\":false}]}");
}

static void test_a_reply_without_sandboxes_is_told(void **state)
{
	(void)state;
	PLAYS({ 201, "[]" }, { 201, "{}" }, { 201, NULL }, { 201, "[{\"token\":\"t\"}]" },
		{ 500, "{\"error\":\"x\"}" });
	fails(SPAWN, "{\"template\":\"py\"}",
		"invalid reply from the master: it tells of no sandbox; it begins \"[]\"");
	fails(SPAWN, "{\"template\":\"py\"}",
		"invalid reply from the master: it tells of no sandbox; it begins \"{}\"");
	fails(SPAWN, "{\"template\":\"py\"}",
		"invalid reply from the master: it is empty; it begins \"\"");
	fails(SPAWN, "{\"template\":\"py\"}",
		"invalid reply from the master: a sandbox has no id; it begins "
		"\"[{\\\"token\\\":\\\"***\\\"}]\"");
	fails(SPAWN, "{\"template\":\"py\"}", "POST /v1/sandboxes answered 500 Worse: x");
}

/* --- nobody is left to be told --- */

static void test_cancelled_while_they_start_all_are_deleted(void **state)
{
	(void)state;
	PLAYS({ 201, "[" TOLD("a") "," NEW("b") "]" }, { .after_ms = NEVER }, { 204, NULL },
		{ 204, NULL });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\",\"n\":2}"));
	run_for(230);
	assert_int_equal(under_way, 1);
	send_text(CANCEL);
	run_for(20);
	assert_int_equal(aborted, 1);
	assert_int_equal(job_count(), 0);
	assert_string_equal(heard, "");
	asked_for(POST("\"template\":\"py\",\"n\":2") GET("b") DELETE("a") DELETE("b"));
}

static void test_cancelled_between_two_looks_all_are_deleted(void **state)
{
	(void)state;
	PLAYS({ 201, NEW("a") }, { 204, NULL });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\"}"));
	run_for(20);
	send_text(CANCEL);
	send_text(CANCEL);
	run_for(20);
	assert_int_equal(job_count(), 0);
	asked_for(POST("\"template\":\"py\"") DELETE("a"));
}

static void test_a_request_that_is_answered_after_the_cancel_is_cleaned_up(void **state)
{
	(void)state;
	PLAYS({ 201, NEW("a"), .after_ms = 50 }, { 204, NULL });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\"}"));
	run_for(10);
	send_text(CANCEL);
	run_for(100);
	assert_int_equal(job_count(), 0);
	assert_string_equal(heard, "");
	asked_for(POST("\"template\":\"py\"") DELETE("a"));
}

static void test_a_request_that_is_not_answered_is_given_up(void **state)
{
	(void)state;
	PLAYS({ .after_ms = NEVER });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\"}"));
	run_for(10);
	send_text(CANCEL);
	run_for(1100);
	assert_int_equal(aborted, 1);
	assert_int_equal(job_count(), 0);
}

static void test_deleting_takes_two_seconds_at_most(void **state)
{
	(void)state;
	PLAYS({ 201, NEW("a") }, { .after_ms = NEVER });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\"}"));
	run_for(20);
	send_text(CANCEL);
	run_for(1900);
	assert_int_equal(job_count(), 1);
	run_for(200);
	assert_int_equal(job_count(), 0);
	assert_int_equal(under_way, 0);
}

static void test_a_server_that_ends_deletes_them_and_says_so(void **state)
{
	(void)state;
	PLAYS({ 201, NEW("a") }, { 204, NULL });
	send_text(CALL_OF(SPAWN, "{\"template\":\"py\"}"));
	run_for(20);
	job_stop_all();
	run_for(20);
	assert_int_equal(job_count(), 0);
	assert_non_null(strstr(heard, "Server is stopping"));
	asked_for(POST("\"template\":\"py\"") DELETE("a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_that_runs_at_once_needs_no_look, master_new_client),
		cmocka_unit_test_setup(
			test_those_that_start_are_looked_at_until_they_run, master_new_client),
		cmocka_unit_test_setup(test_a_master_that_makes_one_a_time_is_asked_for_the_rest,
			master_new_client),
		cmocka_unit_test_setup(
			test_what_older_masters_take_is_forwarded_when_given, master_new_client),
		cmocka_unit_test_setup(
			test_the_first_refusal_is_told_when_no_name_for_the_tag_will_do,
			master_new_client),
		cmocka_unit_test_setup(test_a_tag_that_does_not_exist_is_not_tried_by_other_names,
			master_new_client),
		cmocka_unit_test_setup(
			test_the_name_that_the_master_takes_is_remembered, master_new_client),
		cmocka_unit_test_setup(
			test_a_bound_of_n_is_no_refusal_of_its_name, master_new_client),
		cmocka_unit_test_setup(
			test_a_master_without_templates_gets_a_hint, master_new_client),
		cmocka_unit_test_setup(
			test_what_has_failed_is_deleted_and_what_runs_is_told, master_new_client),
		cmocka_unit_test_setup(test_one_that_is_late_is_deleted, master_new_client),
		cmocka_unit_test_setup(
			test_a_refusal_while_looking_ends_the_call, master_new_client),
		cmocka_unit_test_setup(
			test_what_was_made_before_an_error_is_not_lost, master_new_client),
		cmocka_unit_test_setup(test_a_reply_without_sandboxes_is_told, master_new_client),
		cmocka_unit_test_setup(
			test_cancelled_while_they_start_all_are_deleted, master_new_client),
		cmocka_unit_test_setup(
			test_cancelled_between_two_looks_all_are_deleted, master_new_client),
		cmocka_unit_test_setup(
			test_a_request_that_is_answered_after_the_cancel_is_cleaned_up,
			master_new_client),
		cmocka_unit_test_setup(
			test_a_request_that_is_not_answered_is_given_up, master_new_client),
		cmocka_unit_test_setup(test_deleting_takes_two_seconds_at_most, master_new_client),
		cmocka_unit_test_setup(
			test_a_server_that_ends_deletes_them_and_says_so, master_new_client),
		/* from here on n is not sent any more */
		cmocka_unit_test_setup(
			test_a_master_that_does_not_know_n_is_asked_without_it, master_new_client),
	};

	return cmocka_run_group_tests(tests, master_begin, NULL);
}
