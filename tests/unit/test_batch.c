/*
 * Batches, and answers that have no room: a request is answered all the same, and what is sent is
 * one JSON text.
 */
#include "peer.h"

#define INITIALIZE(version)                                                                        \
	MSG("\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" version "}")
#define CANCEL(id)                                                                                 \
	MSG("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id                 \
	    ",\"reason\":\"why not\"}")

/* --- batches --- */

static int batches(void **state)
{
	peer_new(state);
	peer_batch = true;
	return 0;
}

static void test_a_batch_is_refused_where_the_revision_has_none(void **state)
{
	(void)state;
	asked("[" MSG("\"id\":1,\"method\":\"ping\"") "]",
		ERR("null", -32600, "Batches are not served in this protocol revision"));
	asked("[]", ERR("null", -32600, "Batches are not served in this protocol revision"));
}

static void test_a_batch_is_answered_in_one_array_in_order(void **state)
{
	(void)state;
	asked("[" MSG("\"id\":1,\"method\":\"ping\"") "," MSG(
		      "\"method\":\"notifications/initialized\"") "," CALL("2", "echo",
		      "{\"text\":\"x\"}") "]",
		"[" OK("1", "{}") "," OK("2", TEXT_RESULT("x")) "]");
	asked("[" MSG("\"method\":\"x\"") "," MSG("\"id\":1,\"method\":\"ping\"") "]",
		"[" OK("1", "{}") "]");
}

static void test_a_batch_of_notifications_is_not_answered(void **state)
{
	(void)state;
	says_nothing("[" MSG("\"method\":\"notifications/initialized\"") "," MSG(
		"\"id\":1,\"result\":{}") "]");
}

static void test_a_batch_has_a_size(void **state)
{
	char text[4096] = "[";

	(void)state;
	asked("[]", ERR("null", -32600, "A batch holds 1 to 32 messages"));
	for (int i = 0; i < BATCH_MAX; i++)
		strcat(text, i ? "," MSG("\"id\":1,\"method\":\"ping\"")
			       : MSG("\"id\":1,\"method\":\"ping\""));
	strcat(text, "]");
	assert_int_equal(strlen(ask(text)), (sizeof(OK("1", "{}")) - 1 + 1) * BATCH_MAX + 2);
	strcpy(text + strlen(text) - 1, ",7]");
	asked(text, ERR("null", -32600, "A batch holds 1 to 32 messages"));
}

static void test_bad_messages_of_a_batch_are_answered_each_for_itself(void **state)
{
	(void)state;
	asked("[1,[],{}]", "[" ERR("null", -32600, "A message must be an object") "," ERR(
				   "null", -32600, "A message must be an object") "," ERR("null",
				   -32600, "jsonrpc must be \\\"2.0\\\"") "]");
	asked("[" INITIALIZE("\"2025-03-26\"") "]",
		"[" ERR("1", -32600, "initialize cannot be part of a batch") "]");
}

static void test_a_batch_waits_for_each_of_its_calls(void **state)
{
	(void)state;
	send_text("[" CALL("1", "wait", "{}") "," CALL("2", "wait", "{}") "]");
	assert_int_equal(waiter_count, 1);
	job_wake(waiters[0]);
	run_tasks();
	assert_int_equal(waiter_count, 2);
	assert_int_equal(replies, 0);
	job_wake(waiters[1]);
	run_tasks();
	assert_string_equal(
		heard, "[" OK("1", TEXT_RESULT("waited")) "," OK("2", TEXT_RESULT("waited")) "]\n");
	assert_int_equal(cleanups, 2);
}

static void test_a_cancelled_call_of_a_batch_is_left_out(void **state)
{
	(void)state;
	send_text("[" CALL("1", "wait", "{}") "," MSG("\"id\":2,\"method\":\"ping\"") "]");
	send_text(CANCEL("1"));
	job_wake(waiters[0]);
	run_tasks();
	assert_string_equal(heard, "[" OK("2", "{}") "]\n");
}

/* By either kind of id, in any escapes; an id of the other kind is another. */
static void test_a_call_of_a_batch_whose_turn_has_not_come_can_be_cancelled(void **state)
{
	(void)state;
	send_text("[" CALL("1", "wait", "{}") "," CALL("2", "wait", "{}") "," CALL(
		"\"\\u0061\"", "wait", "{}") "," MSG("\"id\":\"2\",\"method\":\"ping\"") "]");
	send_text(CANCEL("\"a\""));
	send_text(CANCEL("2"));
	job_wake(waiters[0]);
	run_tasks();
	assert_true(replies == 3 && waiter_count == 1);
	assert_non_null(strstr(heard, "\"id\":1,"));
	assert_non_null(strstr(heard, "," OK("\"2\"", "{}") "]\n"));
	assert_null(strstr(heard, "\"id\":2,"));
	assert_null(strstr(heard, "\\u0061"));
}

static void test_a_batch_of_a_client_that_is_gone_stops(void **state)
{
	(void)state;
	send_text("[" MSG("\"id\":1,\"method\":\"ping\"") "," CALL("2", "wait", "{}") "," CALL(
		"3", "wait", "{}") "]");
	job_abandon(waiters[0]);
	job_wake(waiters[0]);
	run_tasks();
	assert_true(replies == 1 && waiter_count == 1);
	assert_string_equal(heard, "");
}

static void test_the_rest_of_a_stopped_batch_is_refused(void **state)
{
	(void)state;
	send_text("[" CALL("1", "wait", "{}") "," CALL("2", "wait", "{}") "]");
	job_stop_all();
	job_wake(waiters[0]);
	run_tasks();
	assert_string_equal(
		heard, "[" ERR("1", -32603, "Server is stopping: the call was ended") "," ERR(
			       "2", -32603, "Server is stopping") "]\n");
}

/* --- memory --- */

static void test_an_answer_too_large_becomes_an_error(void **state)
{
	(void)state;
	assert_non_null(
		strstr(ask(CALL("1", "fill", "{\"size\":18000}")), "\"isError\":false}}\n"));
	asked(CALL("1", "fill", "{\"size\":20000}"),
		ERR("1", -32603, "The answer does not fit into the server's memory"));
}

static void test_a_budget_used_up_becomes_an_error_and_passes(void **state)
{
	(void)state;
	mem_set_budget(0);
	asked(CALL("1", "fill", "{\"size\":10000}"),
		ERR("1", -32603, "The answer does not fit into the server's memory"));
	asked(MSG("\"id\":1,\"method\":\"ping\""), OK("1", "{}"));
	mem_set_budget(MEM_BUDGET_MAX);
	assert_non_null(
		strstr(ask(CALL("1", "fill", "{\"size\":10000}")), "\"isError\":false}}\n"));
}

/* However full the answer is, each request of a batch gets its own, and the whole is one JSON text.
 */
static void check_full_batch(int64_t size)
{
	static char text[64 * KIB];
	char id[ID_MAX + 1];
	struct buf mem = unit_buf(MIB);
	struct json d;
	size_t n = 0;

	memset(id, '1', ID_MAX);
	id[ID_MAX] = '\0';
	for (int i = 0; i < BATCH_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"%c{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/"
			"call\",\"params\":{\"name\":\"fill\","
			"\"arguments\":{\"size\":%lld}}}",
			i ? ',' : '[', id, (long long)size);
	strcpy(text + n, "]");
	ask(text);
	assert_int_equal(strchr(heard, '\n') - heard, strlen(heard) - 1);
	assert_int_equal(json_parse(&d, heard, strlen(heard), &mem), 0);
	assert_int_equal(json_count(&d, 0), BATCH_MAX);
	for (int at = json_first(&d, 0); at >= 0; at = json_next(&d, 0, at))
		assert_true(json_get(&d, at, "result") >= 0 || json_get(&d, at, "error") >= 0);
	buf_release(&mem);
}

static void test_each_request_of_a_full_batch_is_answered(void **state)
{
	(void)state;
	for (int64_t size = 0; size < 3000; size += 41)
		check_full_batch(size);
	for (int64_t size = 8000; size < 19000; size += 501)
		check_full_batch(size);
}

/* Around the end of what is not charged, so that the last bracket is once the first byte beyond it.
 */
static void test_a_batch_is_closed_though_the_budget_is_used_up(void **state)
{
	char text[400];
	int whole = 0, cut = 0;

	(void)state;
	mem_set_budget(0);
	for (int size = 2690; size < 2720; size++) {
		for (int id = 1; id < 1000000; id *= 10) {
			snprintf(text, sizeof(text), "[" CALL("%d", "fill", "{\"size\":%d}") "]",
				id, size);
			ask(text);
			assert_true(
				heard[0] == '[' && strcmp(heard + strlen(heard) - 3, "}]\n") == 0);
			*(strstr(heard, "isError") ? &whole : &cut) += 1;
		}
	}
	mem_set_budget(MEM_BUDGET_MAX);
	assert_true(whole > 0 && cut > 0);
}

#define BATCH_TEST(name) cmocka_unit_test_setup(name, batches)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_batch_is_refused_where_the_revision_has_none),
		BATCH_TEST(test_a_batch_is_answered_in_one_array_in_order),
		BATCH_TEST(test_a_batch_of_notifications_is_not_answered),
		BATCH_TEST(test_a_batch_has_a_size),
		BATCH_TEST(test_bad_messages_of_a_batch_are_answered_each_for_itself),
		BATCH_TEST(test_a_batch_waits_for_each_of_its_calls),
		BATCH_TEST(test_a_cancelled_call_of_a_batch_is_left_out),
		BATCH_TEST(test_a_call_of_a_batch_whose_turn_has_not_come_can_be_cancelled),
		BATCH_TEST(test_a_batch_of_a_client_that_is_gone_stops),
		BATCH_TEST(test_the_rest_of_a_stopped_batch_is_refused),
		TEST(test_an_answer_too_large_becomes_an_error),
		TEST(test_a_budget_used_up_becomes_an_error_and_passes),
		BATCH_TEST(test_each_request_of_a_full_batch_is_answered),
		BATCH_TEST(test_a_batch_is_closed_though_the_budget_is_used_up),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
