#include "unit.h"

#include <errno.h>

#include "bounds.h"

static bool all_zero(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static void fill(struct buf *b, size_t n)
{
	char part[1000];

	memset(part, 'x', sizeof(part));
	for (; n > sizeof(part); n -= sizeof(part))
		buf_put(b, part, sizeof(part));
	buf_put(b, part, n);
}

static void a_buf_grows_without_moving(void **state)
{
	struct buf b = unit_buf(MIB);
	char *start = b.p;

	(void)state;
	fill(&b, MIB);
	assert_ptr_equal(b.p, start);
	assert_false(b.failed);
	assert_int_equal(b.len, MIB);
	assert_int_equal(b.p[MIB - 1], 'x');
	buf_release(&b);
}

static void nothing_is_open_before_the_first_write(void **state)
{
	struct buf b = unit_buf(MIB);

	(void)state;
	assert_int_equal(b.cap, 0);
	assert_false(unit_readable(b.p));
	buf_putc(&b, 'x');
	assert_true(unit_readable(b.p));
	assert_false(unit_readable(b.p + MIB / 2));
	buf_release(&b);
}

static void a_write_that_does_not_fit_leaves_no_part_behind(void **state)
{
	struct buf b = unit_buf(100);

	(void)state;
	fill(&b, 60);
	fill(&b, 41);
	assert_true(b.failed);
	assert_int_equal(b.len, 60);
	buf_release(&b);
}

static void a_failure_sticks_until_a_cut(void **state)
{
	struct buf b = unit_buf(10);

	(void)state;
	buf_puts(&b, "123456789");
	buf_puts(&b, "ab");
	buf_putc(&b, 'a');
	assert_true(b.failed);
	assert_slice(buf_all(&b), "123456789");
	assert_null(buf_alloc(&b, 1));
	buf_cut(&b, 4);
	buf_puts(&b, "ab");
	assert_false(b.failed);
	assert_slice(buf_all(&b), "1234ab");
	buf_release(&b);
}

static void a_failure_is_gone_after_a_reset(void **state)
{
	struct buf b = unit_buf(10);

	(void)state;
	fill(&b, 11);
	assert_true(b.failed);
	buf_reset(&b, true);
	buf_puts(&b, "0123456789");
	assert_false(b.failed);
	assert_int_equal(b.len, 10);
	buf_release(&b);
}

static void a_reset_gives_every_page_back(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t before = mem_opened();

	(void)state;
	fill(&b, MIB / 2);
	assert_true(mem_opened() > before);
	buf_reset(&b, false);
	assert_int_equal(mem_opened(), before);
	assert_int_equal(b.cap, 0);
	assert_false(unit_readable(b.p));
	assert_false(unit_readable(b.p + MIB / 4));
	buf_release(&b);
}

static void a_keeping_reset_leaves_the_first_16_KiB_open_and_wiped(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t before = mem_opened();

	(void)state;
	fill(&b, MIB / 2);
	buf_reset(&b, true);
	assert_int_equal(mem_opened(), before);
	assert_true(b.cap >= BUF_KEEP && b.cap < BUF_KEEP + BUF_STEP);
	assert_true(all_zero(b.p, BUF_KEEP));
	assert_false(unit_readable(b.p + b.cap));
	buf_release(&b);
}

static void what_a_cut_or_a_drop_forgot_is_wiped_by_the_reset(void **state)
{
	struct buf b = unit_buf(MIB);

	(void)state;
	fill(&b, 9000);
	buf_cut(&b, 10);
	fill(&b, 5000);
	buf_drop(&b, 4000);
	assert_int_equal(b.len, 1010);
	buf_reset(&b, true);
	assert_true(all_zero(b.p, BUF_KEEP));
	buf_release(&b);
}

static void bytes_come_back_zero_after_pages_were_given_back(void **state)
{
	struct buf b = unit_buf(MIB);

	(void)state;
	fill(&b, MIB);
	buf_reset(&b, false);
	assert_true(buf_room(&b, MIB));
	assert_true(all_zero(b.p, MIB));
	buf_release(&b);
}

static void the_first_16_KiB_are_not_charged(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t before = mem_opened();

	(void)state;
	mem_set_budget(before);
	fill(&b, BUF_KEEP);
	assert_false(b.failed);
	assert_int_equal(mem_opened(), before);
	fill(&b, BUF_STEP);
	assert_true(b.failed);
	mem_set_budget(MEM_BUDGET_MAX);
	buf_release(&b);
}

static void one_budget_serves_all_bufs(void **state)
{
	struct buf a = unit_buf(MIB), b = unit_buf(MIB);

	(void)state;
	mem_set_budget(mem_opened() + 600 * KIB);
	fill(&a, 500 * KIB);
	assert_false(a.failed);
	fill(&b, 500 * KIB);
	assert_true(b.failed);
	buf_release(&a);
	buf_reset(&b, true);
	fill(&b, 500 * KIB);
	assert_false(b.failed);
	mem_set_budget(MEM_BUDGET_MAX);
	buf_release(&b);
}

static void the_end_of_the_budget_is_used_to_the_page(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	mem_set_budget(mem_opened() + page);
	assert_true(buf_room(&b, BUF_KEEP + page));
	assert_false(buf_room(&b, BUF_KEEP + page + 1));
	mem_set_budget(MEM_BUDGET_MAX);
	buf_release(&b);
}

static void a_budget_below_what_is_open_refuses_and_does_not_wrap(void **state)
{
	struct buf b = unit_buf(MIB);

	(void)state;
	fill(&b, 300 * KIB);
	mem_set_budget(1);
	assert_false(buf_room(&b, 300 * KIB));
	mem_set_budget(MEM_BUDGET_MAX);
	buf_release(&b);
}

static void an_overdraft_opens_pages_beyond_the_budget(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t before = mem_opened();

	(void)state;
	mem_set_budget(1);
	mem_overdraft(true);
	fill(&b, 300 * KIB);
	assert_false(b.failed);
	mem_overdraft(false);
	fill(&b, 300 * KIB);
	assert_true(b.failed);
	mem_set_budget(MEM_BUDGET_MAX);
	buf_release(&b);
	assert_int_equal(mem_opened(), before);
}

static void a_release_gives_the_charge_back_once(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t before = mem_opened();

	(void)state;
	fill(&b, MIB);
	buf_release(&b);
	buf_release(&b);
	assert_int_equal(mem_opened(), before);
	assert_int_equal(b.max, 0);
}

static void impossible_reservations_are_refused(void **state)
{
	struct buf b;

	(void)state;
	assert_int_equal(buf_reserve(&b, 0), -ENOMEM);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	assert_int_equal(buf_reserve(&b, SIZE_MAX / 2), -ENOMEM);
	buf_release(&b);
}

static void a_buf_that_has_its_memory_keeps_it(void **state)
{
	struct buf b = { 0 };
	char *start;

	(void)state;
	assert_true(buf_ready(&b, 100));
	start = b.p;
	fill(&b, 60);
	assert_true(buf_ready(&b, 100));
	assert_ptr_equal(b.p, start);
	assert_int_equal(b.len, 60);
	assert_int_equal(b.max, 100);
	buf_release(&b);
	assert_false(buf_ready(&b, 0));
}

static void a_buf_without_memory_refuses_every_write(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_null(buf_alloc(&b, 0));
	buf_cut(&b, 0);
	buf_put(&b, NULL, 0);
	assert_false(b.failed);
	buf_puts(&b, "x");
	assert_true(b.failed);
	buf_reset(&b, true);
	buf_reset(&b, false);
	assert_int_equal(b.len, 0);
}

static void a_buf_over_memory_stays_inside_it(void **state)
{
	char mem[8] = "........";
	struct buf b;

	(void)state;
	buf_over(&b, mem, 6);
	buf_puts(&b, "abcdef");
	assert_false(b.failed);
	buf_putc(&b, 'g');
	assert_true(b.failed);
	assert_memory_equal(mem, "abcdef..", 8);
	buf_reset(&b, false);
	assert_memory_equal(mem, "\0\0\0\0\0\0..", 8);
	assert_true(buf_room(&b, 6));
}

static void allocations_are_aligned_and_zero(void **state)
{
	struct buf b = unit_buf(MIB);
	size_t i;
	char *p;

	(void)state;
	fill(&b, 30000);
	buf_cut(&b, 3);
	for (i = 1; i < 100; i++) {
		p = buf_alloc(&b, i);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_true(all_zero(p, i));
		memset(p, 'y', i);
	}
	buf_release(&b);
}

static void an_allocation_may_fill_the_buf_to_the_last_byte(void **state)
{
	struct buf b = unit_buf(4096);

	(void)state;
	assert_null(buf_alloc(&b, 4097));
	buf_cut(&b, 0);
	assert_null(buf_alloc(&b, SIZE_MAX));
	buf_cut(&b, 0);
	assert_non_null(buf_alloc(&b, 4096));
	assert_null(buf_alloc(&b, 1));
	buf_release(&b);
}

static void a_drop_keeps_the_rest(void **state)
{
	struct buf b = unit_buf(4096);

	(void)state;
	buf_puts(&b, "0123456789");
	buf_drop(&b, 4);
	assert_slice(buf_all(&b), "456789");
	buf_drop(&b, 0);
	assert_slice(buf_all(&b), "456789");
	buf_drop(&b, 100);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

static void a_cut_never_lengthens(void **state)
{
	struct buf b = unit_buf(4096);

	(void)state;
	buf_puts(&b, "0123456789");
	buf_cut(&b, 11);
	assert_slice(buf_all(&b), "0123456789");
	buf_release(&b);
}

static void a_buf_can_be_appended_to_itself(void **state)
{
	struct buf b = unit_buf(MIB);
	int i;

	(void)state;
	buf_puts(&b, "abc");
	for (i = 0; i < 15; i++)
		buf_slice(&b, buf_all(&b));
	assert_int_equal(b.len, 3 << 15);
	assert_memory_equal(b.p + b.len - 6, "abcabc", 6);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buf_grows_without_moving),
		cmocka_unit_test(nothing_is_open_before_the_first_write),
		cmocka_unit_test(a_write_that_does_not_fit_leaves_no_part_behind),
		cmocka_unit_test(a_failure_sticks_until_a_cut),
		cmocka_unit_test(a_failure_is_gone_after_a_reset),
		cmocka_unit_test(a_reset_gives_every_page_back),
		cmocka_unit_test(a_keeping_reset_leaves_the_first_16_KiB_open_and_wiped),
		cmocka_unit_test(what_a_cut_or_a_drop_forgot_is_wiped_by_the_reset),
		cmocka_unit_test(bytes_come_back_zero_after_pages_were_given_back),
		cmocka_unit_test(the_first_16_KiB_are_not_charged),
		cmocka_unit_test(one_budget_serves_all_bufs),
		cmocka_unit_test(the_end_of_the_budget_is_used_to_the_page),
		cmocka_unit_test(a_budget_below_what_is_open_refuses_and_does_not_wrap),
		cmocka_unit_test(an_overdraft_opens_pages_beyond_the_budget),
		cmocka_unit_test(a_release_gives_the_charge_back_once),
		cmocka_unit_test(impossible_reservations_are_refused),
		cmocka_unit_test(a_buf_that_has_its_memory_keeps_it),
		cmocka_unit_test(a_buf_without_memory_refuses_every_write),
		cmocka_unit_test(a_buf_over_memory_stays_inside_it),
		cmocka_unit_test(allocations_are_aligned_and_zero),
		cmocka_unit_test(an_allocation_may_fill_the_buf_to_the_last_byte),
		cmocka_unit_test(a_drop_keeps_the_rest),
		cmocka_unit_test(a_cut_never_lengthens),
		cmocka_unit_test(a_buf_can_be_appended_to_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
