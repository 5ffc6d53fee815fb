#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "base/fmt.h"

/* Ours and libc's output for the same arguments. */
#define assert_as_printf(...)                                                                      \
	do {                                                                                       \
		char want[256];                                                                    \
		struct buf got = unit_buf(4096);                                                   \
                                                                                                   \
		snprintf(want, sizeof(want), __VA_ARGS__);                                         \
		buf_printf(&got, __VA_ARGS__);                                                     \
		assert_same(buf_all(&got), slice_of(want));                                        \
		buf_release(&got);                                                                 \
	} while (0)

static void integers_print_as_printf_prints_them(void **state)
{
	(void)state;
	assert_as_printf("%d %d %d", 0, INT_MAX, INT_MIN);
	assert_as_printf("%u %u", 0u, UINT_MAX);
	assert_as_printf("%ld %ld", LONG_MAX, LONG_MIN);
	assert_as_printf("%lu", ULONG_MAX);
	assert_as_printf("%lld %lld", LLONG_MAX, LLONG_MIN);
	assert_as_printf("%llu", ULLONG_MAX);
	assert_as_printf("%zu %zd", SIZE_MAX, (ssize_t)-5);
}

static void hex_prints_as_printf_prints_it(void **state)
{
	(void)state;
	assert_as_printf("%x %x %x", 0u, 0xdeadbeefu, 10u);
	assert_as_printf("%lx %llx %zx", ULONG_MAX, ULLONG_MAX, SIZE_MAX);
	assert_as_printf("%02x%08x", 7u, 0xabcu);
}

static void widths_pad_as_printf_pads(void **state)
{
	(void)state;
	assert_as_printf("[%5d][%-5d][%05d]", 42, 42, 42);
	assert_as_printf("[%5d][%-5d][%05d]", -42, -42, -42);
	assert_as_printf("[%1d][%2d][%02d]", 12345, -12345, -12345);
	assert_as_printf("[%40s][%-40s]", "right", "left");
	assert_as_printf("[%16s][%17s][%-33d]", "a", "b", 1);
	assert_as_printf("[%3c][%-3c]", 'b', 'c');
}

static void strings_print_as_printf_prints_them(void **state)
{
	(void)state;
	assert_as_printf("%s|%s|", "", "text");
	assert_as_printf("%.*s|%.*s|%.*s", 3, "abcdef", 0, "abc", 9, "abc");
	assert_as_printf("%.2s|%5.1s|%-5.3s|", "abc", "abc", "abc");
	assert_as_printf("%.*s", -1, "all of it");
	assert_as_printf("%c%c", 'x', 'y');
}

/* The format is the first of the arguments, where no compiler looks into it. */
static void put_unchecked(struct buf *b, ...)
{
	const char *fmt;
	va_list ap;

	va_start(ap, b);
	fmt = va_arg(ap, const char *);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	buf_vprintf(b, fmt, ap);
#pragma GCC diagnostic pop
	va_end(ap);
}

static void an_unknown_conversion_is_put_as_it_stands(void **state)
{
	struct buf b = unit_buf(64);

	(void)state;
	put_unchecked(&b, "%q %-05.3");
	assert_slice(buf_all(&b), "%q %-05.3");
	buf_release(&b);
}

static void percent_signs_and_plain_text_pass(void **state)
{
	(void)state;
	assert_as_printf("100%%, %s", "done");
	assert_as_printf("no conversion at all");
	assert_as_printf("%%");
}

static void a_precision_reads_no_byte_too_many(void **state)
{
	char *exact = malloc(3);
	struct buf b = unit_buf(64);

	(void)state;
	memcpy(exact, "abc", 3);
	buf_printf(&b, "%.*s", 3, exact);
	assert_slice(buf_all(&b), "abc");
	free(exact);
	buf_release(&b);
}

static void no_string_prints_as_null(void **state)
{
	struct buf b = unit_buf(64);
	const char *volatile none = NULL;

	(void)state;
	buf_printf(&b, "%s", none);
	assert_slice(buf_all(&b), "(null)");
	buf_cut(&b, 0);
	buf_printf(&b, "<%.*s>", 0, none);
	assert_slice(buf_all(&b), "<>");
	buf_release(&b);
}

static void a_zero_byte_can_be_printed(void **state)
{
	struct buf b = unit_buf(64);

	(void)state;
	buf_printf(&b, "a%cb", 0);
	assert_slice(buf_all(&b), "a\0b");
	buf_release(&b);
}

static void what_does_not_fit_whole_is_not_written(void **state)
{
	char mem[10];
	struct buf b;

	(void)state;
	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "%s", "12345");
	buf_printf(&b, "%s-%d", "678", 90);
	assert_true(b.failed);
	assert_slice(buf_all(&b), "12345");
	buf_printf(&b, "x");
	assert_slice(buf_all(&b), "12345");
	buf_cut(&b, 5);
	buf_printf(&b, "%05d", 7);
	assert_false(b.failed);
	assert_slice(buf_all(&b), "1234500007");
}

struct counting_sink {
	struct fmt_sink sink;
	size_t bytes;
};

static void count(struct fmt_sink *to, struct slice part)
{
	((struct counting_sink *)to)->bytes += part.n;
}

static void __attribute__((format(printf, 2, 3))) to_sink(struct fmt_sink *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fmt_to(to, fmt, ap);
	va_end(ap);
}

static void a_sink_of_any_kind_gets_the_whole_text(void **state)
{
	struct counting_sink c = { { count }, 0 };

	(void)state;
	to_sink(&c.sink, "%100000d %s", 1, "x");
	assert_int_equal(c.bytes, 100002);
}

static void a_c_string_is_whole_or_empty(void **state)
{
	char mem[6] = "befor";

	(void)state;
	assert_int_equal(str_printf(mem, sizeof(mem), "%s-%d", "a", 123), 0);
	assert_string_equal(mem, "a-123");
	assert_int_equal(str_printf(mem, sizeof(mem), "%s-%d", "a", 1234), -ENAMETOOLONG);
	assert_string_equal(mem, "");
	assert_int_equal(str_printf(mem, 1, "%s", ""), 0);
	assert_string_equal(mem, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_print_as_printf_prints_them),
		cmocka_unit_test(hex_prints_as_printf_prints_it),
		cmocka_unit_test(widths_pad_as_printf_pads),
		cmocka_unit_test(strings_print_as_printf_prints_them),
		cmocka_unit_test(an_unknown_conversion_is_put_as_it_stands),
		cmocka_unit_test(percent_signs_and_plain_text_pass),
		cmocka_unit_test(a_precision_reads_no_byte_too_many),
		cmocka_unit_test(no_string_prints_as_null),
		cmocka_unit_test(a_zero_byte_can_be_printed),
		cmocka_unit_test(what_does_not_fit_whole_is_not_written),
		cmocka_unit_test(a_c_string_is_whole_or_empty),
		cmocka_unit_test(a_sink_of_any_kind_gets_the_whole_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
