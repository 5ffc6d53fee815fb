/*
 * Calls that take their time: several at once, cancelled, stopped, with progress.
 */
#include "peer.h"

/* --- several at once --- */

static void test_calls_are_answered_in_the_order_they_end(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	send_text(CALL("2", "wait", "{}"));
	send_text(MSG("\"id\":3,\"method\":\"ping\""));
	assert_string_equal(heard, OK("3", "{}") "\n");
	job_wake(waiters[1]);
	run_tasks();
	job_wake(waiters[0]);
	run_tasks();
	assert_string_equal(heard, OK("3", "{}") "\n" OK("2", TEXT_RESULT("waited")) "\n" OK(
					   "1", TEXT_RESULT("waited")) "\n");
	assert_int_equal(cleanups, 2);
}

static void test_a_full_table_answers_requests_as_busy_and_still_hears_cancels(void **state)
{
	char text[200];

	(void)state;
	for (int i = 0; i < JOBS_MAX; i++) {
		snprintf(text, sizeof(text), CALL("%d", "stay", "{}"), i);
		send_text(text);
	}
	assert_null(job_new(&peer_sink, heard));
	assert_true(send_in(
		job_new_spare(&peer_sink, heard), LIT(MSG("\"id\":99,\"method\":\"ping\""))));
	assert_string_equal(heard,
		ERR("99", -32603, "Server is busy: 64 messages are being served, try again") "\n");
	assert_true(send_in(job_new_spare(&peer_sink, heard),
		LIT(MSG("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}"))));
	assert_int_equal(cancels, 1);
	assert_true(waiters[5]->muted);
	for (int i = 0; i < JOBS_MAX; i++)
		job_wake(waiters[i]);
	run_tasks();
	assert_int_equal(replies, JOBS_MAX + 2);
	assert_null(strstr(heard, "\"id\":5,"));
	assert_non_null(strstr(heard, "\"id\":6,"));
}

static void test_commands_leave_some_slots_to_others(void **state)
{
	(void)state;
	for (int i = 0; i < JOBS_MAX - JOBS_KEPT; i++)
		send_text(CALL("1", "wait", "{}"));
	asked(CALL("2", "wait", "{}"),
		ERR("2", -32603, "Server is busy: 56 commands are running, wait for one to end"));
	asked(CALL("3", "echo", "{\"text\":\"on\"}"), OK("3", TEXT_RESULT("on")));
	for (int i = 0; i < waiter_count; i++)
		job_wake(waiters[i]);
	run_tasks();
	send_text(CALL("4", "wait", "{}"));
	assert_null(strstr(heard, "\"id\":4"));
	job_wake(waiters[waiter_count - 1]);
	run_tasks();
}

/* --- cancelling --- */

#define CANCEL(id)                                                                                 \
	MSG("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id                 \
	    ",\"reason\":\"why not\"}")

static void wait_for(const char *id, const char *cancel, bool ends)
{
	char text[300];

	waiter_count = cancels = replies = 0;
	heard[0] = '\0';
	snprintf(text, sizeof(text),
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"wait\"}}",
		id);
	send_text(text);
	snprintf(text, sizeof(text), CANCEL("%s"), cancel);
	send_text(text);
	assert_int_equal(cancels, ends);
	job_wake(waiters[0]);
	run_tasks();
	assert_int_equal(replies, 2);
	assert_int_equal(strlen(heard) == 0, ends);
}

static void test_a_cancelled_call_is_ended_and_never_answered(void **state)
{
	(void)state;
	wait_for("7", "7", true);
	wait_for("\"seven\"", "\"seven\"", true);
	wait_for("\"seven\"", "\"s\\u0065ven\"", true);
	wait_for("\"s\\u0065ven\"", "\"seven\"", true);
	wait_for("12345678901234567890", "12345678901234567890", true);
}

static void test_a_cancel_ends_no_other_call(void **state)
{
	(void)state;
	wait_for("7", "8", false);
	wait_for("7", "\"7\"", false);
	wait_for("\"7\"", "7", false);
	wait_for("7", "7.0", false);
	wait_for("7", "null", false);
	wait_for("\"7\"", "\"\\ud800\"", false);
}

static void test_a_cancel_ends_no_call_of_another_client(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	assert_true(send_in(job_new(&peer_sink, NULL), LIT(CANCEL("1"))));
	assert_int_equal(cancels, 0);
	job_wake(waiters[0]);
	run_tasks();
	assert_string_equal(heard, OK("1", TEXT_RESULT("waited")) "\n");
}

static void test_a_cancel_for_a_call_that_is_just_over_leaves_its_work_alone(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	job_wake(waiters[0]);
	send_text(CANCEL("1"));
	assert_int_equal(cancels, 0);
	run_tasks();
	assert_string_equal(heard, "");
	assert_true(replies == 2 && cleanups == 1);
	asked(MSG("\"id\":2,\"method\":\"ping\""), OK("2", "{}"));
}

static void test_a_cancel_before_or_after_the_call_is_nothing(void **state)
{
	(void)state;
	says_nothing(CANCEL("1"));
	asked(CALL("1", "echo", "{\"text\":\"x\"}"), OK("1", TEXT_RESULT("x")));
	says_nothing(CANCEL("1"));
	asked(CALL("1", "echo", "{\"text\":\"y\"}"), OK("1", TEXT_RESULT("y")));
}

/* --- the end of the server --- */

static void test_a_stopped_call_says_why_it_ended(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	job_stop_all();
	assert_int_equal(cancels, 1);
	assert_string_equal(heard, "");
	job_wake(waiters[0]);
	run_tasks();
	assert_string_equal(heard, ERR("1", -32603, "Server is stopping: the call was ended") "\n");
}

static void test_a_cancelled_call_stays_silent_when_the_server_stops(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	send_text(CANCEL("1"));
	job_stop_all();
	job_wake(waiters[0]);
	run_tasks();
	assert_int_equal(replies, 2);
	assert_string_equal(heard, "");
}

static void test_a_call_whose_client_is_gone_ends_in_silence(void **state)
{
	(void)state;
	send_text(CALL("1", "wait", "{}"));
	job_abandon(waiters[0]);
	assert_int_equal(cancels, 1);
	job_wake(waiters[0]);
	run_tasks();
	assert_true(replies == 1 && cleanups == 1);
	assert_string_equal(heard, "");
}

/* --- progress --- */

#define WITH_TOKEN(token)                                                                          \
	MSG("\"id\":1,\"method\":\"tools/"                                                         \
	    "call\",\"params\":{\"name\":\"wait\",\"_meta\":{\"progressToken\":" token "}}")

static void finish_wait(void)
{
	job_wake(waiters[waiter_count - 1]);
	run_tasks();
}

static void test_progress_goes_to_who_asked_for_it_with_the_token_as_written(void **state)
{
	static const char *const tokens[] = { "7", "\"se\\u0076en\"", "12345678901234567890" };
	char text[300], want[300];

	(void)state;
	for (size_t i = 0; i < COUNT(tokens); i++) {
		events[0] = '\0';
		snprintf(text, sizeof(text), WITH_TOKEN("%s"), tokens[i]);
		send_text(text);
		waiters[waiter_count - 1]->started -= PROGRESS_FIRST_MS;
		tool_progress(waiters[waiter_count - 1], 3, 10, LIT("a \"third\""));
		snprintf(want, sizeof(want),
			MSG("\"method\":\"notifications/"
			    "progress\",\"params\":{\"progressToken\":%s,\"progress\":3,"
			    "\"total\":10,\"message\":\"a \\\"third\\\"\"}") "\n",
			tokens[i]);
		assert_string_equal(events, want);
		finish_wait();
	}
}

static void test_no_progress_without_a_token_that_is_one(void **state)
{
	static const char *const tokens[] = { "null", "1.5", "{}", "true", "[]" };
	char text[300];

	(void)state;
	for (size_t i = 0; i < COUNT(tokens); i++) {
		snprintf(text, sizeof(text), WITH_TOKEN("%s"), tokens[i]);
		send_text(text);
		assert_false(tool_wants_progress(waiters[waiter_count - 1]));
		waiters[waiter_count - 1]->started -= PROGRESS_FIRST_MS;
		tool_progress(waiters[waiter_count - 1], 1, 2, LIT(""));
		finish_wait();
	}
	assert_string_equal(events, "");
}

static void test_progress_starts_late_and_is_paced(void **state)
{
	struct job *j;

	(void)state;
	send_text(WITH_TOKEN("1"));
	j = waiters[0];
	tool_progress(j, 1, 0, LIT(""));
	assert_string_equal(events, "");
	j->started -= PROGRESS_FIRST_MS;
	tool_progress(j, 1, 0, LIT(""));
	assert_string_equal(
		events, MSG("\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,"
			    "\"progress\":1}") "\n");
	tool_progress(j, 2, 0, LIT(""));
	assert_null(strstr(events, "\"progress\":2"));
	j->progress_last -= PROGRESS_EVERY_MS;
	tool_progress(j, 3, 0, LIT(""));
	assert_non_null(strstr(events, "\"progress\":3"));
	finish_wait();
}

static void test_a_cancelled_call_makes_no_progress(void **state)
{
	(void)state;
	send_text(WITH_TOKEN("1"));
	waiters[0]->started -= PROGRESS_FIRST_MS;
	send_text(CANCEL("1"));
	tool_progress(waiters[0], 1, 2, LIT(""));
	assert_string_equal(events, "");
	finish_wait();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls_are_answered_in_the_order_they_end),
		TEST(test_a_full_table_answers_requests_as_busy_and_still_hears_cancels),
		TEST(test_commands_leave_some_slots_to_others),
		TEST(test_a_cancelled_call_is_ended_and_never_answered),
		TEST(test_a_cancel_ends_no_other_call),
		TEST(test_a_cancel_ends_no_call_of_another_client),
		TEST(test_a_cancel_for_a_call_that_is_just_over_leaves_its_work_alone),
		TEST(test_a_cancel_before_or_after_the_call_is_nothing),
		TEST(test_a_stopped_call_says_why_it_ended),
		TEST(test_a_cancelled_call_stays_silent_when_the_server_stops),
		TEST(test_a_call_whose_client_is_gone_ends_in_silence),
		TEST(test_progress_goes_to_who_asked_for_it_with_the_token_as_written),
		TEST(test_no_progress_without_a_token_that_is_one),
		TEST(test_progress_starts_late_and_is_paced),
		TEST(test_a_cancelled_call_makes_no_progress),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
