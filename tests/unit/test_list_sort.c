/*
 * Sorting names: any number, any order, in steps of any size; and the first LIST_MAX of a crowd.
 */
#include "unit.h"

#include <string.h>

#include "host/list_sort.h"

enum { MANY = 5000 };

static char text[MANY][8];
static const char *names[MANY];

/* Names from a fixed sequence that looks random; many of them stand twice. */
static void fill(size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		snprintf(text[i], sizeof(text[i]), "%u", (seed >> 16) % (unsigned)(n + n / 2 + 1));
		names[i] = text[i];
	}
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_all(size_t n, size_t steps)
{
	struct list_sort s;

	list_sort_start(&s, names, n);
	while (!list_sort_more(&s, steps))
		;
}

static void test_any_number_is_sorted_in_steps_of_any_size(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, MANY };
	static const size_t steps[] = { 1, 2, 3, 97, 2 * MANY };
	static const char *want[MANY];

	(void)state;
	for (size_t c = 0; c < COUNT(counts); c++)
		for (size_t s = 0; s < COUNT(steps); s++) {
			fill(counts[c], (unsigned)(c * 31 + s));
			memcpy(want, names, sizeof(want));
			qsort(want, counts[c], sizeof(want[0]), by_bytes);
			sort_all(counts[c], steps[s]);
			for (size_t i = 0; i < counts[c]; i++)
				assert_string_equal(names[i], want[i]);
		}
}

static void test_order_of_bytes_is_unsigned(void **state)
{
	static const char *const want[] = { "", " ", "-", ".", "A", "a", "a.", "aa", "\x7f", "\x80",
		"\xc3\xa9", "\xff" };
	size_t i, n = COUNT(want);

	(void)state;
	for (i = 0; i < n; i++)
		names[i] = want[(i * 5 + 3) % n];
	sort_all(n, 3);
	for (i = 0; i < n; i++)
		assert_string_equal(names[i], want[i]);
}

static void test_sorted_and_reversed_names_take_no_longer(void **state)
{
	struct list_sort s;

	(void)state;
	for (int reversed = 0; reversed < 2; reversed++) {
		for (int i = 0; i < MANY; i++) {
			snprintf(text[i], sizeof(text[i]), "%05d", reversed ? MANY - i : i);
			names[i] = text[i];
		}
		list_sort_start(&s, names, MANY);
		assert_true(list_sort_more(&s, 2 * MANY));
		for (int i = 1; i < MANY; i++)
			assert_true(strcmp(names[i - 1], names[i]) < 0);
	}
}

static void test_the_steps_asked_for_are_not_exceeded(void **state)
{
	struct list_sort s;
	size_t calls = 0;

	(void)state;
	fill(100, 7);
	list_sort_start(&s, names, 100);
	while (!list_sort_more(&s, 1))
		calls++;
	assert_in_range(calls, 140, 150);
}

static void top_of(size_t n, unsigned seed)
{
	static struct list_top top;

	memset(&top, 0, sizeof(top));
	fill(n, seed);
	for (size_t i = 0; i < n; i++)
		list_top_offer(&top, names[i], (unsigned char)names[i][0]);
	list_top_sort(&top);
	qsort(names, n, sizeof(names[0]), by_bytes);
	assert_int_equal(top.n, n < LIST_MAX ? n : LIST_MAX);
	assert_int_equal(top.more, n > LIST_MAX);
	for (size_t i = 0; i < top.n; i++) {
		assert_string_equal(top.names[i], names[i]);
		assert_int_equal(list_top_type(&top, i), (unsigned char)names[i][0]);
	}
}

static void test_the_first_of_any_number_are_kept_in_order_with_their_types(void **state)
{
	static const size_t counts[] = { 0, 1, 2, LIST_MAX - 1, LIST_MAX, LIST_MAX + 1,
		2 * LIST_MAX, MANY };

	(void)state;
	for (size_t c = 0; c < COUNT(counts); c++)
		top_of(counts[c], (unsigned)c);
}

static void test_a_name_of_full_length_is_kept_whole_and_a_longer_one_cut(void **state)
{
	static struct list_top top;
	char name[NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	list_top_offer(&top, name, 1);
	assert_int_equal(strlen(top.names[0]), NAME_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_number_is_sorted_in_steps_of_any_size),
		cmocka_unit_test(test_order_of_bytes_is_unsigned),
		cmocka_unit_test(test_sorted_and_reversed_names_take_no_longer),
		cmocka_unit_test(test_the_steps_asked_for_are_not_exceeded),
		cmocka_unit_test(test_the_first_of_any_number_are_kept_in_order_with_their_types),
		cmocka_unit_test(test_a_name_of_full_length_is_kept_whole_and_a_longer_one_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
