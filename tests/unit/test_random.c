#include "unit.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "base/random.h"
#include "base/str.h"

/* The kernel's, or that of a machine that just booted. Stands before libc's own in this program. */
static bool pool_empty;
static int pool_empty_for; /* calls; 0: until it is said */

ssize_t getrandom(void *out, size_t n, unsigned flags)
{
	if (pool_empty_for > 0 && --pool_empty_for == 0)
		pool_empty = false;
	if (!pool_empty)
		return syscall(SYS_getrandom, out, n, flags);
	assert_true(flags & GRND_NONBLOCK);
	errno = EAGAIN;
	return -1;
}

static void no_two_names_are_equal(void)
{
	unsigned char names[200][12];
	size_t i, k;

	for (i = 0; i < COUNT(names); i++) {
		random_name(names[i], sizeof(names[i]));
		for (k = 0; k < i; k++)
			assert_memory_not_equal(names[k], names[i], sizeof(names[i]));
	}
}

static void names_do_not_repeat(void **state)
{
	(void)state;
	no_two_names_are_equal();
}

static void names_do_not_repeat_before_the_pool_is_ready(void **state)
{
	(void)state;
	pool_empty = true;
	no_two_names_are_equal();
	pool_empty = false;
}

static void who_can_wait_waits_for_the_pool(void **state)
{
	unsigned char key[32];

	(void)state;
	pool_empty = true;
	assert_int_equal(random_key(key, sizeof(key)), -EAGAIN);
	pool_empty_for = 3;
	random_wait();
	assert_false(pool_empty);
	assert_int_equal(random_key(key, sizeof(key)), 0);
	random_wait();
}

static void every_byte_asked_for_is_filled_and_no_other(void **state)
{
	unsigned char mem[600];
	unsigned seen[600] = { 0 };
	size_t i;
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		memset(mem, 0, sizeof(mem));
		random_name(mem, sizeof(mem) - 1);
		for (i = 0; i < sizeof(mem); i++)
			seen[i] |= mem[i];
	}
	for (i = 0; i + 1 < sizeof(mem); i++)
		assert_int_not_equal(seen[i], 0);
	assert_int_equal(seen[sizeof(mem) - 1], 0);
	random_name(mem, 0);
}

static void a_name_in_hex_holds_every_bit_of_its_bytes(void **state)
{
	char hex[2 * 5 + 1];
	unsigned char bytes[5], seen[5] = { 0 }, same[5];

	(void)state;
	memset(same, 0xff, sizeof(same));
	for (int round = 0; round < 100; round++) {
		random_hex(hex, sizeof(bytes));
		assert_true(str_unhex(slice_of(hex), bytes, sizeof(bytes)));
		for (size_t i = 0; i < sizeof(bytes); i++) {
			seen[i] |= bytes[i];
			same[i] &= bytes[i];
		}
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_true(seen[i] == 0xff && same[i] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_do_not_repeat),
		cmocka_unit_test(names_do_not_repeat_before_the_pool_is_ready),
		cmocka_unit_test(who_can_wait_waits_for_the_pool),
		cmocka_unit_test(every_byte_asked_for_is_filled_and_no_other),
		cmocka_unit_test(a_name_in_hex_holds_every_bit_of_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
