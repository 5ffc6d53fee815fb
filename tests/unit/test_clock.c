#include "unit.h"

#include <time.h>

#include "base/clock.h"

static void assert_as_gmtime(int64_t unix_s)
{
	time_t t = (time_t)unix_s;
	struct utc u;
	struct tm tm;

	assert_non_null(gmtime_r(&t, &tm));
	utc_from(&u, unix_s);
	assert_int_equal(u.year, tm.tm_year + 1900);
	assert_int_equal(u.month, tm.tm_mon + 1);
	assert_int_equal(u.day, tm.tm_mday);
	assert_int_equal(u.hour, tm.tm_hour);
	assert_int_equal(u.minute, tm.tm_min);
	assert_int_equal(u.second, tm.tm_sec);
}

static void every_day_of_800_years_has_its_date(void **state)
{
	int64_t day;

	(void)state;
	for (day = -146097; day <= 146097; day++)
		assert_as_gmtime(day * 86400 + (day & 0xffff));
}

static void times_around_the_epoch_keep_their_seconds(void **state)
{
	int64_t s;

	(void)state;
	for (s = -100000; s <= 100000; s += 7)
		assert_as_gmtime(s);
}

static void times_far_away_have_a_date(void **state)
{
	(void)state;
	assert_as_gmtime(-62135596801);
	assert_as_gmtime(-62167219201);
	assert_as_gmtime(253402300800);
	assert_as_gmtime(INT64_C(1) << 50);
	assert_as_gmtime(-(INT64_C(1) << 50));
}

static void no_time_is_too_large_for_a_year(void **state)
{
	struct utc most, least;

	(void)state;
	utc_from(&most, INT64_MAX);
	utc_from(&least, INT64_MIN);
	assert_true(most.year > 1000000000);
	assert_true(least.year < -1000000000);
	assert_in_range(most.month, 1, 12);
	assert_in_range(least.day, 1, 31);
}

static void iso_times_have_four_digits_of_year_and_end_in_Z(void **state)
{
	struct buf b = unit_buf(100);

	(void)state;
	clock_put_iso(&b, 0);
	clock_put_iso(&b, 951827696);
	clock_put_iso(&b, -62135596800);
	assert_slice(buf_all(&b), "1970-01-01T00:00:00Z2000-02-29T12:34:56Z0001-01-01T00:00:00Z");
	buf_release(&b);
}

static void the_monotonic_clock_counts_milliseconds(void **state)
{
	const struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	int64_t start = clock_ms(), took;

	(void)state;
	nanosleep(&nap, NULL);
	took = clock_ms() - start;
	assert_in_range(took, 19, 10000);
}

static void the_wall_clock_is_in_seconds(void **state)
{
	int64_t off = clock_unix() - (int64_t)time(NULL);

	(void)state;
	assert_true(off >= -1 && off <= 1);
}

static void a_clock_that_was_never_set_is_not_plausible(void **state)
{
	(void)state;
	assert_false(clock_plausible(-1));
	assert_false(clock_plausible(0));
	assert_false(clock_plausible(86400));
	assert_false(clock_plausible(1735689599)); /* the last second of 2024 */
	assert_true(clock_plausible(1735689600));
	assert_true(clock_plausible(clock_unix()));
	assert_true(clock_plausible(INT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day_of_800_years_has_its_date),
		cmocka_unit_test(times_around_the_epoch_keep_their_seconds),
		cmocka_unit_test(times_far_away_have_a_date),
		cmocka_unit_test(no_time_is_too_large_for_a_year),
		cmocka_unit_test(iso_times_have_four_digits_of_year_and_end_in_Z),
		cmocka_unit_test(the_monotonic_clock_counts_milliseconds),
		cmocka_unit_test(the_wall_clock_is_in_seconds),
		cmocka_unit_test(a_clock_that_was_never_set_is_not_plausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
