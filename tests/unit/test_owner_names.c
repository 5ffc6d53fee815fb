/*
 * Names of owners: lines of passwd and group files, good and broken, and a memory that is smaller
 * than the crowd.
 */
#include "unit.h"

#include "host/owner_names.h"

static void test_a_line_gives_the_name_of_its_id(void **state)
{
	(void)state;
	assert_slice(owner_in_line(LIT("dev:x:1000:1000:Dev:/home/dev:/bin/sh"), 1000), "dev");
	assert_slice(owner_in_line(LIT("wheel:x:10:a,b"), 10), "wheel");
	assert_slice(owner_in_line(LIT("wheel:x:10:"), 10), "wheel");
	assert_slice(owner_in_line(LIT("short::7"), 7), "short");
	assert_slice(owner_in_line(LIT("max:x:4294967295:0"), 4294967295u), "max");
}

static void test_other_lines_give_none(void **state)
{
	static const char *const lines[] = { "", ":", "::", ":::", "dev:x:1001:", "dev:x::",
		"dev:x:1e3:", "dev:x:-1:", "dev:x:4294968296:", "# comment",
		"+::::::", ":x:1000:", "dev:1000", "dev:x: 1000:" };

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_int_equal(owner_in_line(slice_of(lines[i]), 1000).n, 0);
}

static void test_root_has_a_name_and_a_stranger_a_number(void **state)
{
	static struct owner_names o;

	(void)state;
	assert_string_equal(owner_name(&o, false, 0)->name, "root");
	assert_false(owner_name(&o, false, 0)->number);
	assert_string_equal(owner_name(&o, true, 4123456789u)->name, "4123456789");
	assert_true(owner_name(&o, true, 4123456789u)->number);
}

static void test_more_owners_than_are_remembered_are_told_apart(void **state)
{
	static struct owner_names o;
	char want[16];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < 3 * OWNERS_KEPT; i++) {
			snprintf(want, sizeof(want), "%u", 4000000000u + i);
			assert_string_equal(owner_name(&o, i % 2, 4000000000u + i)->name, want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_gives_the_name_of_its_id),
		cmocka_unit_test(test_other_lines_give_none),
		cmocka_unit_test(test_root_has_a_name_and_a_stranger_a_number),
		cmocka_unit_test(test_more_owners_than_are_remembered_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
