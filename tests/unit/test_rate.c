/*
 * Rates, on a clock of the test's own.
 */
#include "unit.h"

#include "bounds.h"
#include "front/auth.h"
#include "loop/loop.h"

static int64_t now;

int64_t loop_now(void)
{
	return now;
}

struct peer {
	unsigned char addr[16];
};

static struct peer v4(unsigned n)
{
	struct peer p = { { [10] = 0xff, [11] = 0xff, [12] = 10 } };

	p.addr[14] = (unsigned char)(n >> 8);
	p.addr[15] = (unsigned char)n;
	return p;
}

static struct peer v6(unsigned char network, unsigned char host)
{
	return (struct peer){ { 0x20, 0x01, [7] = network, [15] = host } };
}

static int request(struct peer p)
{
	return rate_request(RATE_HOLDER, p.addr);
}

static int failure(struct peer p)
{
	return rate_failure(p.addr);
}

static int start(void **state)
{
	(void)state;
	now = 1000;
	rate_setup(3);
	return 0;
}

static void test_the_limit_holds_for_a_minute_from_the_first_request(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++, now += 10000)
		assert_int_equal(request(v4(1)), 0);
	assert_int_equal(request(v4(1)), 30);
	now += 29999;
	assert_int_equal(request(v4(1)), 1);
	now += 1;
	for (int i = 0; i < 3; i++)
		assert_int_equal(request(v4(1)), 0);
	assert_int_equal(request(v4(1)), 60);
}

static void test_refused_requests_do_not_prolong_the_wait(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		request(v4(1));
	now += RATE_WINDOW_MS;
	assert_int_equal(request(v4(1)), 0);
}

static void test_no_limit(void **state)
{
	(void)state;
	rate_setup(0);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(request(v4(1)), 0);
}

static void test_callers_are_counted_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		request(v4(1));
	assert_int_equal(request(v4(1)), 60);
	assert_int_equal(request(v4(2)), 0);
	assert_int_equal(request(v6(1, 1)), 0);
	assert_int_equal(request(v4(1)), 60);
}

static void test_a_network_of_ipv6_is_one_caller(void **state)
{
	(void)state;
	for (unsigned char i = 0; i < 3; i++)
		assert_int_equal(request(v6(1, i)), 0);
	assert_int_equal(request(v6(1, 200)), 60);
	assert_int_equal(request(v6(2, 0)), 0);
}

static void test_a_full_table_forgets_who_was_quiet_longest(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RATE_KEYS; i++, now++)
		for (int k = 0; k < 3; k++)
			assert_int_equal(request(v4(i)), 0);
	assert_true(request(v4(0)) > 0); /* now the one heard of last */
	now++;
	assert_int_equal(request(v4(1000)), 0); /* takes the place of 1 */
	assert_true(request(v4(0)) > 0);
	assert_true(request(v4(2)) > 0);
	assert_int_equal(request(v4(1)), 0);
}

static void test_the_clock_may_start_at_zero(void **state)
{
	(void)state;
	now = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(request(v4(1)), 0);
	assert_int_equal(request(v4(1)), 60);
	assert_int_equal(request(v4(2)), 0);
	assert_int_equal(request(v4(1)), 60);
}

/* Fails until told to wait; the wait. */
static int fail_and_wait(struct peer p, int free)
{
	int wait;

	for (int i = 0; i < free; i++)
		assert_int_equal(failure(p), 0);
	wait = failure(p);
	assert_true(wait > 0);
	return wait;
}

static void test_waits_double_up_to_a_minute(void **state)
{
	static const int want[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_int_equal(fail_and_wait(v4(1), i == 0 ? FAILURES_FREE : 1), want[i]);
		now += want[i] * 1000 - 1;
		assert_int_equal(failure(v4(1)), 1);
		now += 1;
	}
}

static void test_failures_are_forgotten_after_ten_quiet_minutes(void **state)
{
	(void)state;
	assert_int_equal(fail_and_wait(v4(1), FAILURES_FREE), 1);
	now += FAILURES_FORGET_MS - 1;
	assert_int_equal(fail_and_wait(v4(1), 1), 2);
	now += FAILURES_FORGET_MS;
	assert_int_equal(fail_and_wait(v4(1), FAILURES_FREE), 1);
}

static void test_failures_of_one_do_not_hurt_others(void **state)
{
	(void)state;
	fail_and_wait(v4(1), FAILURES_FREE);
	assert_int_equal(failure(v4(2)), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(request(v4(1)), 0);
}

/* Whoever shares an address with strangers is not shut out by them, nor they by him. */
static void test_strangers_do_not_use_up_what_a_holder_may_ask(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(rate_request(RATE_STRANGER, v4(1).addr), 0);
	assert_int_equal(rate_request(RATE_STRANGER, v4(1).addr), 60);
	for (int i = 0; i < 3; i++)
		assert_int_equal(request(v4(1)), 0);
	assert_int_equal(request(v4(1)), 60);
	assert_int_equal(rate_request(RATE_STRANGER, v4(2).addr), 0);
}

static void test_failures_are_limited_without_a_limit_of_requests(void **state)
{
	(void)state;
	rate_setup(0);
	assert_int_equal(fail_and_wait(v6(1, 1), FAILURES_FREE), 1);
	assert_int_equal(failure(v6(1, 2)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_the_limit_holds_for_a_minute_from_the_first_request, start),
		cmocka_unit_test_setup(test_refused_requests_do_not_prolong_the_wait, start),
		cmocka_unit_test_setup(test_no_limit, start),
		cmocka_unit_test_setup(test_callers_are_counted_apart, start),
		cmocka_unit_test_setup(test_a_network_of_ipv6_is_one_caller, start),
		cmocka_unit_test_setup(test_a_full_table_forgets_who_was_quiet_longest, start),
		cmocka_unit_test_setup(test_the_clock_may_start_at_zero, start),
		cmocka_unit_test_setup(test_waits_double_up_to_a_minute, start),
		cmocka_unit_test_setup(test_failures_are_forgotten_after_ten_quiet_minutes, start),
		cmocka_unit_test_setup(test_failures_of_one_do_not_hurt_others, start),
		cmocka_unit_test_setup(test_strangers_do_not_use_up_what_a_holder_may_ask, start),
		cmocka_unit_test_setup(
			test_failures_are_limited_without_a_limit_of_requests, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
