/*
 * The state machine of sessions, with a clock of the test's own.
 */
#include "unit.h"

#include "host/session.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

#define T0 INT64_C(1796000000400) /* with a part of a second */

static struct session_table table;

static int empty(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return 0;
}

static struct session *add(int64_t now, int64_t minutes)
{
	char id[SESSION_ID_LEN + 1];

	assert_true(session_make_id(id));
	return session_add(&table, slice_of(id), LIT("work"), now, minutes);
}

static struct session *add_ready(int64_t now, int64_t minutes)
{
	struct session *s = add(now, minutes);

	assert_non_null(s);
	assert_true(session_ready(s));
	return s;
}

static void clean_whole(struct session *s, int64_t now)
{
	assert_true(session_clean(s, now));
	s->files = FILES_GONE;
}

static void assert_status(const struct session *s, const char *want)
{
	assert_string_equal(session_status(s), want);
}

/* --- ids --- */

static void test_ids_are_random_uuids_of_version_4(void **state)
{
	char a[SESSION_ID_LEN + 1], b[SESSION_ID_LEN + 1];

	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_true(session_make_id(a) && session_make_id(b));
		assert_int_equal(strlen(a), SESSION_ID_LEN);
		assert_true(session_is_id(slice_of(a)));
		assert_string_not_equal(a, b);
		assert_int_equal(a[14], '4');
		assert_non_null(strchr("89ab", a[19]));
	}
}

static void test_nothing_else_is_an_id(void **state)
{
	static const char *const bad[] = {
		"",
		"..",
		"0",
		"00000000-0000-4000-8000-00000000000",
		"00000000-0000-4000-8000-0000000000000",
		"00000000-0000-4000-8000-00000000000/",
		"00000000-0000-4000-8000-00000000000g",
		"0000000A-0000-4000-8000-000000000000",
		"00000000_0000-4000-8000-000000000000",
		"000000000000-4000-8000-0000-00000000",
		"../../../../../../../../../../../etc",
	};

	(void)state;
	assert_true(session_is_id(LIT("00000000-0000-4000-8000-000000000000")));
	assert_false(session_is_id(LIT("00000000-0000-4000-8000-00000000000\0")));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(session_is_id(slice_of(bad[i])));
}

/* --- life --- */

static void test_a_session_from_its_making_to_its_end(void **state)
{
	struct session *s = add(T0, 30);

	(void)state;
	assert_status(s, "creating");
	assert_int_equal(session_count(&table), 1);
	assert_true(session_ready(s));
	assert_status(s, "ready");
	s->running++;
	assert_status(s, "active");
	assert_int_equal(session_count(&table), 1);
	s->running--;
	assert_null(session_expire(&table, T0 + 30 * MINUTE - 1));
	assert_ptr_equal(session_expire(&table, T0 + 30 * MINUTE), s);
	assert_null(session_expire(&table, T0 + 30 * MINUTE));
	assert_status(s, "expired");
	assert_int_equal(session_count(&table), 0);
	assert_true(session_clean(s, T0 + 31 * MINUTE));
	assert_status(s, "cleaned");
	assert_ptr_equal(session_find(&table, slice_of(s->id)), s);
}

/* Fault 50: DELETE while a command runs, then the command ends. */
static void test_cleaned_is_final(void **state)
{
	struct session *s = add_ready(T0, 30);

	(void)state;
	s->running++;
	assert_true(session_clean(s, T0));
	assert_status(s, "cleaned");
	assert_false(session_clean(s, T0 + 1));
	assert_int_equal(s->cleaned, T0);
	assert_false(session_ready(s));
	assert_false(session_extend(s, 15));
	assert_null(session_expire(&table, T0 + 10 * HOUR));
	s->running--;
	assert_status(s, "cleaned");
}

static void test_an_end_during_the_making_is_noticed_by_the_maker(void **state)
{
	struct session *s = add(T0, 1);

	(void)state;
	assert_ptr_equal(session_expire(&table, T0 + MINUTE), s);
	assert_false(session_ready(s));
	assert_status(s, "expired");
}

/* Fault 52: the first of two commands ends. */
static void test_a_session_is_active_as_long_as_anything_runs(void **state)
{
	struct session *s = add_ready(T0, 30);

	(void)state;
	s->running += 2;
	s->running--;
	assert_status(s, "active");
	s->running--;
	assert_status(s, "ready");
}

/* --- time --- */

/* Fault 53: an end with a fraction against one without. */
static void test_nothing_ends_early(void **state)
{
	struct session *a = add_ready(T0, 1), *b = add_ready(T0 - T0 % 1000, 1);

	(void)state;
	assert_int_equal(a->end - b->end, T0 % 1000);
	assert_ptr_equal(session_expire(&table, b->end), b);
	assert_null(session_expire(&table, a->end - 1));
	assert_ptr_equal(session_expire(&table, a->end), a);
}

static void test_the_first_end_is_found_among_the_living(void **state)
{
	struct session *a, *b;

	(void)state;
	assert_true(session_first_end(&table) == INT64_MAX);
	a = add_ready(T0, 30);
	b = add(T0, 2);
	assert_int_equal(session_first_end(&table), b->end);
	session_clean(b, T0);
	assert_int_equal(session_first_end(&table), a->end);
}

static void test_extending_ends_at_two_hours_as_shown(void **state)
{
	struct session *s = add_ready(T0, 30);
	int64_t latest = T0 - T0 % 1000 + 2 * HOUR;

	(void)state;
	assert_true(session_extend(s, 15));
	assert_int_equal(s->end, T0 + 45 * MINUTE);
	assert_true(session_extend(s, 120));
	assert_int_equal(s->end, latest);
	assert_true(session_extend(s, 1));
	assert_int_equal(s->end, latest);
	assert_int_equal(add(T0, 120)->end, latest);
}

static void test_only_what_is_ready_can_be_extended(void **state)
{
	struct session *s = add(T0, 1);

	(void)state;
	assert_false(session_extend(s, 15));
	assert_true(session_ready(s));
	assert_non_null(session_expire(&table, s->end));
	assert_false(session_extend(s, 15));
	assert_null(session_expire(&table, T0 + HOUR));
}

static void test_minutes_are_rounded_half_to_even(void **state)
{
	static const struct {
		int64_t left, minutes;
	} cases[] = {
		{ 30 * MINUTE, 30 },
		{ 29 * MINUTE + 30000, 30 },
		{ 28 * MINUTE + 30000, 28 },
		{ 28 * MINUTE + 30001, 29 },
		{ 28 * MINUTE + 29999, 28 },
		{ 30000, 0 },
		{ 30001, 1 },
		{ MINUTE + 30000, 2 },
		{ 1, 0 },
		{ 0, 0 },
		{ -5 * MINUTE, 0 },
	};
	struct session *s = add_ready(T0, 30);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(session_minutes_left(s, s->end - cases[i].left), cases[i].minutes);
	session_clean(s, T0);
	assert_int_equal(session_minutes_left(s, T0), 0);
}

static void test_setting_the_clock_changes_no_remaining_time(void **state)
{
	struct session *s = add_ready(1000400, 30);
	int64_t now = 1000400 + 10 * MINUTE, jump = INT64_C(1796000000);

	(void)state;
	session_shift(&table, jump);
	assert_int_equal(session_minutes_left(s, now + 1000 * jump), 20);
	assert_int_equal(s->created % 1000, 0);
	session_shift(&table, -jump);
	assert_int_equal(session_minutes_left(s, now), 20);
}

/* --- rows --- */

static void test_a_cleaned_row_is_kept_for_a_day(void **state)
{
	struct session *s = add_ready(T0, 30), *other = add_ready(T0, 30);

	(void)state;
	assert_true(session_clean(s, T0));
	session_forget(&table, T0 + 100 * HOUR);
	assert_status(s, "cleaned"); /* its files are still there */
	s->files = FILES_GONE;
	session_forget(&table, T0 + 24 * HOUR - 1);
	assert_status(s, "cleaned");
	session_forget(&table, T0 + 24 * HOUR);
	assert_int_equal(s->state, SESSION_NONE);
	assert_status(other, "ready");
}

static void test_a_full_table_gives_up_who_was_cleaned_first(void **state)
{
	char second[SESSION_ID_LEN + 1];
	struct session *s;

	(void)state;
	for (int i = 0; i < SESSIONS_MAX; i++)
		assert_non_null(add_ready(T0, 30));
	assert_null(add(T0, 30));
	assert_true(session_clean(&table.row[7], T0 + 1)); /* files not removed yet */
	assert_null(add(T0, 30));
	clean_whole(&table.row[9], T0 + 3);
	clean_whole(&table.row[5], T0 + 2);
	memcpy(second, table.row[9].id, sizeof(second));
	s = add(T0, 30);
	assert_ptr_equal(s, &table.row[5]);
	assert_non_null(session_find(&table, slice_of(second)));
	assert_ptr_equal(add(T0, 30), &table.row[9]);
	assert_null(add(T0, 30));
}

static void test_an_id_stands_once(void **state)
{
	struct session *s = add_ready(T0, 30);

	(void)state;
	assert_null(session_add(&table, slice_of(s->id), LIT("again"), T0, 30));
	clean_whole(s, T0);
	assert_null(session_add(&table, slice_of(s->id), LIT("again"), T0, 30));
}

static void test_rows_are_walked_and_used_again(void **state)
{
	struct session *a = add(T0, 1), *b = add(T0, 1), *c = add(T0, 1);

	(void)state;
	session_drop(b);
	assert_ptr_equal(session_next(&table, NULL), a);
	assert_ptr_equal(session_next(&table, a), c);
	assert_null(session_next(&table, c));
	assert_ptr_equal(add(T0, 1), b);
	assert_slice(((struct slice){ b->type, b->type_len }), "work");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ids_are_random_uuids_of_version_4, empty),
		cmocka_unit_test_setup(test_nothing_else_is_an_id, empty),
		cmocka_unit_test_setup(test_a_session_from_its_making_to_its_end, empty),
		cmocka_unit_test_setup(test_cleaned_is_final, empty),
		cmocka_unit_test_setup(
			test_an_end_during_the_making_is_noticed_by_the_maker, empty),
		cmocka_unit_test_setup(test_a_session_is_active_as_long_as_anything_runs, empty),
		cmocka_unit_test_setup(test_nothing_ends_early, empty),
		cmocka_unit_test_setup(test_the_first_end_is_found_among_the_living, empty),
		cmocka_unit_test_setup(test_extending_ends_at_two_hours_as_shown, empty),
		cmocka_unit_test_setup(test_only_what_is_ready_can_be_extended, empty),
		cmocka_unit_test_setup(test_minutes_are_rounded_half_to_even, empty),
		cmocka_unit_test_setup(test_setting_the_clock_changes_no_remaining_time, empty),
		cmocka_unit_test_setup(test_a_cleaned_row_is_kept_for_a_day, empty),
		cmocka_unit_test_setup(test_a_full_table_gives_up_who_was_cleaned_first, empty),
		cmocka_unit_test_setup(test_an_id_stands_once, empty),
		cmocka_unit_test_setup(test_rows_are_walked_and_used_again, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
