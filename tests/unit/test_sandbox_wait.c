/*
 * wait_for_text: where each look begins, what ends the wait, and that it ends in time.
 */
#include "master_peer.h"

#define WAIT "wait_for_text"
#define ARGS(more) "{\"sandbox_id\":\"s\",\"path\":\"/log a\",\"marker\":\"ready\"" more "}"
#define OUT(text) "{\"stdout\":\"" text "\",\"stderr\":\"\",\"exit_code\":0}"
#define NONE OUT("")

/* The answer without its elapsed_ms, which goes to *elapsed. */
static const char *answer(const char *args, int *elapsed)
{
	static char text[2 * KIB];
	const char *all = text_of(ask(args)), *ms = strstr(all, "\"elapsed_ms\":"), *after;

	assert_non_null(ms);
	*elapsed = atoi(ms + strlen("\"elapsed_ms\":"));
	after = strchr(ms, ',');
	assert_true(strlen(all) < sizeof(text));
	snprintf(text, sizeof(text), "%.*s%s", (int)(ms - all), all, after + 1);
	return text;
}

#define waits(args, text)                                                                          \
	do {                                                                                       \
		int ms_;                                                                           \
		assert_string_equal(answer(CALL_OF(WAIT, args), &ms_), text);                      \
		took = ms_;                                                                        \
	} while (0)

static int took;

/* The offset that the n-th look was asked for. */
static long offset_of(int n)
{
	const char *at = requests;

	for (;; n--) {
		at = strstr(at, "\"/log a\",\"");
		assert_non_null(at);
		at += strlen("\"/log a\",\"");
		if (n == 0)
			return atol(at);
	}
}

static int looks(void)
{
	int n = 0;

	for (const char *at = requests; (at = strstr(at, "POST ")); at++)
		n++;
	return n;
}

static void test_path_and_sizes_are_arguments_of_a_fixed_script(void **state)
{
	(void)state;
	PLAYS({ 200, OUT("9\\nis ready") });
	waits(ARGS(",\"timeout_secs\":2.5"), "{\"found\":true,\"last_excerpt\":\"is ready\"}");
	assert_non_null(
		strstr(requests, "POST /v1/sandboxes/s/exec {\"args\":[\"sh\",\"-c\",\"[ -f "));
	assert_non_null(strstr(requests, ";exit 0\",\"sh\",\"/log a\",\"0\",\"65536\"],"
					 "\"timeout_secs\":3}"));
}

static void test_the_token_is_on_every_look(void **state)
{
	(void)state;
	note_fields = true;
	PLAYS({ 200, NONE }, { 200, NONE }, { 200, OUT("5\\nready") });
	waits("{\"sandbox_id\":\"s\",\"path\":\"/l\",\"marker\":\"ready\",\"poll_interval_ms\":50,"
	      "\"sandbox_token\":\"" BOX_TOKEN "\"}",
		"{\"found\":true,\"last_excerpt\":\"ready\"}");
	const char *at = requests;
	for (int i = 0; i < 3; i++, at++) {
		at = strstr(at, "x-sandstorm-sandbox-token: " BOX_TOKEN);
		assert_non_null(at);
	}
	assert_int_equal(took, 100);
}

static void test_zero_seconds_are_one_look(void **state)
{
	(void)state;
	PLAYS({ 200, NONE }, { 200, OUT("5\\nready") });
	waits(ARGS(",\"timeout_secs\":0"), "{\"found\":false,\"last_excerpt\":\"\"}");
	assert_int_equal(looks(), 1);
	waits(ARGS(",\"timeout_secs\":0"), "{\"found\":true,\"last_excerpt\":\"ready\"}");
}

static void test_a_look_begins_before_the_end_of_the_last(void **state)
{
	(void)state;
	PLAYS({ 200, OUT("1000\\nrea") }, { 200, OUT("200000\\nx") }, { 200, OUT("200000\\nx") },
		{ 200, OUT("200000\\nx") }, { 200, OUT("200000\\nready") });
	waits(ARGS(",\"poll_interval_ms\":50"), "{\"found\":true,\"last_excerpt\":\"ready\"}");
	assert_int_equal(offset_of(0), 0);
	assert_int_equal(offset_of(1), 1000 - 256);
	assert_int_equal(offset_of(2), 1000 - 256 + 65536 - 256);
	assert_int_equal(offset_of(3), 1000 - 256 + 2 * (65536 - 256));
	assert_int_equal(offset_of(4), 200000 - 256 > offset_of(3) + 65536 - 256
					       ? offset_of(3) + 65536 - 256
					       : 200000 - 256);
	assert_int_equal(took, 50); /* no sleep while there is more to read */
}

static void test_a_long_marker_has_a_longer_overlap(void **state)
{
	static char args[2000], marker[1001];

	(void)state;
	memset(marker, 'm', 1000);
	snprintf(args, sizeof(args),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"wait_for_text\",\"arguments\":{\"sandbox_id\":\"s\",\"path\":\"/log a\","
		"\"marker\":\"%s\",\"poll_interval_ms\":50,\"timeout_secs\":0.06}}}",
		marker);
	PLAYS({ 200, OUT("5000\\nx") }, { 200, OUT("5000\\nx") }, { 200, OUT("5000\\nx") });
	text_of(ask(args));
	assert_int_equal(offset_of(1), 5000 - 1003);
}

static void test_a_file_that_became_smaller_is_read_from_its_start(void **state)
{
	(void)state;
	PLAYS({ 200, OUT("5000\\nx") }, { 200, OUT("300\\n") }, { 200, OUT("300\\nready") });
	waits(ARGS(",\"poll_interval_ms\":60"), "{\"found\":true,\"last_excerpt\":\"ready\"}");
	assert_int_equal(offset_of(1), 5000 - 256);
	assert_int_equal(offset_of(2), 0);
	assert_int_equal(took, 60);
}

static void test_the_excerpt_is_the_end_of_what_was_seen(void **state)
{
	char body[800], x[301];

	(void)state;
	memset(x, 'x', 300);
	x[300] = '\0';
	snprintf(body, sizeof(body), OUT("306\\n%s\xe2\x82\xac\xe2\x82\xac"), x);
	PLAYS({ 200, body });
	waits(ARGS(",\"timeout_secs\":0"),
		"{\"found\":false,\"last_excerpt\":\""
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxx\xe2\x82\xac\xe2\x82\xac\"}");
}

static void test_errors_that_may_pass_are_borne_until_the_end(void **state)
{
	(void)state;
	PLAYS({ 503, "{\"error\":\"full\"}" }, { .failure = HTTP_CALL_REFUSED },
		{ 200, OUT("5\\nready") });
	waits(ARGS(",\"poll_interval_ms\":50"), "{\"found\":true,\"last_excerpt\":\"ready\"}");
	PLAYS({ 500, "{\"error\":\"" API_TOKEN "\"}" }, { 500, "{\"error\":\"ill\"}" });
	waits(ARGS(",\"poll_interval_ms\":50,\"timeout_secs\":0.02"),
		"{\"found\":false,\"last_excerpt\":\"\",\"last_error\":\"POST /v1/sandboxes/s/exec "
		"answered 500 Worse: ill\"}");
}

static void test_errors_that_last_end_the_wait(void **state)
{
	(void)state;
	PLAYS({ 401, "{\"error\":\"no\"}" }, { 404, "{\"error\":\"no sandbox\"}" },
		{ .failure = HTTP_CALL_TLS }, { 200, "<html>" }, { 200, "{\"stdout\":1}" });
	fails(WAIT, ARGS(""),
		"POST /v1/sandboxes/s/exec answered 401 Bad: no; sandbox_token is missing: pass "
		"the "
		"token that spawn_sandboxes returned for this sandbox");
	fails(WAIT, ARGS(""), "POST /v1/sandboxes/s/exec answered 404 Bad: no sandbox");
	fails(WAIT, ARGS(""), "it did not work");
	fails(WAIT, ARGS(""),
		"invalid reply from the master: it is not JSON; it begins \"<html>\"");
	fails(WAIT, ARGS(""),
		"invalid reply from the master: it has no stdout or no exit_code; it begins "
		"\"{\\\"stdout\\\":1}\"");
}

static void test_what_the_sandboxs_shell_says_is_told_at_the_end(void **state)
{
	(void)state;
	PLAYS({ 200, "{\"stdout\":\"\",\"stderr\":\"sh: /x: Permission "
		     "denied\\n\",\"exit_code\":1}" },
		{ 200, OUT("hello\\n") });
	waits(ARGS(",\"timeout_secs\":0"), "{\"found\":false,\"last_excerpt\":\"\",\"last_error\":"
					   "\"looking into the file failed "
					   "with exit code 1: sh: /x: Permission denied\"}");
	waits(ARGS(",\"timeout_secs\":0"), "{\"found\":false,\"last_excerpt\":\"\",\"last_error\":"
					   "\"the sandbox's shell answered "
					   "something else\"}");
}

static void test_a_look_that_takes_too_long_is_given_up(void **state)
{
	(void)state;
	PLAYS({ .after_ms = NEVER });
	waits(ARGS(",\"timeout_secs\":0.1"),
		"{\"found\":false,\"last_excerpt\":\"\",\"last_error\":\"it did not work\"}");
	assert_int_equal(took, 500);
}

static void test_a_cancelled_wait_looks_no_more(void **state)
{
	(void)state;
	PLAYS({ 200, NONE });
	send_text(CALL_OF(WAIT, ARGS("")));
	run_for(20);
	assert_int_equal(looks(), 1);
	send_text(CANCEL);
	run_for(300);
	assert_int_equal(looks(), 1);
	assert_int_equal(job_count(), 0);
	assert_string_equal(heard, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_path_and_sizes_are_arguments_of_a_fixed_script, master_new_client),
		cmocka_unit_test_setup(test_the_token_is_on_every_look, master_new_client),
		cmocka_unit_test_setup(test_zero_seconds_are_one_look, master_new_client),
		cmocka_unit_test_setup(
			test_a_look_begins_before_the_end_of_the_last, master_new_client),
		cmocka_unit_test_setup(test_a_long_marker_has_a_longer_overlap, master_new_client),
		cmocka_unit_test_setup(
			test_a_file_that_became_smaller_is_read_from_its_start, master_new_client),
		cmocka_unit_test_setup(
			test_the_excerpt_is_the_end_of_what_was_seen, master_new_client),
		cmocka_unit_test_setup(
			test_errors_that_may_pass_are_borne_until_the_end, master_new_client),
		cmocka_unit_test_setup(test_errors_that_last_end_the_wait, master_new_client),
		cmocka_unit_test_setup(
			test_what_the_sandboxs_shell_says_is_told_at_the_end, master_new_client),
		cmocka_unit_test_setup(
			test_a_look_that_takes_too_long_is_given_up, master_new_client),
		cmocka_unit_test_setup(test_a_cancelled_wait_looks_no_more, master_new_client),
	};

	return cmocka_run_group_tests(tests, master_begin, NULL);
}
