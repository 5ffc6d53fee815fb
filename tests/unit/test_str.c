#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "base/str.h"

static void integers_are_read_to_the_ends_of_their_range(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "007", 7 },
		{ "-42", -42 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
		{ "00000000000000000000000000000000001", 1 },
	};
	int64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(good); i++) {
		assert_int_equal(str_int(slice_of(good[i].text), &v), 0);
		assert_int_equal(v, good[i].value);
	}
}

static void what_is_no_integer_is_refused(void **state)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "--1",
		"abc", "1a", "99999999999999999999x" };
	int64_t v = 5;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(str_int(slice_of(bad[i]), &v), -EBADMSG);
	assert_int_equal(str_int((struct slice){ NULL, 0 }, &v), -EBADMSG);
	assert_int_equal(str_int(LIT("1\0"), &v), -EBADMSG);
	assert_int_equal(v, 5);
}

static void integers_out_of_range_are_told_apart(void **state)
{
	static const char *const big[] = { "9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "99999999999999999999999999999" };
	int64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(big); i++)
		assert_int_equal(str_int(slice_of(big[i]), &v), -ERANGE);
}

static void numbers_become_thousandths(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
		bool exact;
	} good[] = {
		{ "0", 0, true },
		{ "-0.0", 0, true },
		{ "1.5", 1500, true },
		{ "3e2", 300000, true },
		{ "3E+2", 300000, true },
		{ "0.3", 300, true },
		{ "-2.25", -2250, true },
		{ "12e-1", 1200, true },
		{ "0.0009", 0, false },
		{ "1.0009", 1000, false },
		{ "-1.9999", -1999, false },
		{ "1.00000000000000000000000000000", 1000, true },
		{ "0.000000000000000000000000000001e33", 1000000, true },
		{ "1000000000000000000000000000e-24", 1000000, true },
		{ "0e99999999999999999999999999", 0, true },
		{ "1e-99999999999999999999999999", 0, false },
		{ "9223372036854775.807", INT64_MAX, true },
		{ "-9223372036854775.808", INT64_MIN, true },
		{ "9223372036854775.8079", INT64_MAX, false },
	};
	int64_t v;
	size_t i;
	bool exact;

	(void)state;
	for (i = 0; i < COUNT(good); i++) {
		assert_int_equal(str_milli(slice_of(good[i].text), &v, &exact), 0);
		assert_int_equal(v, good[i].value);
		assert_int_equal(exact, good[i].exact);
		assert_int_equal(str_milli(slice_of(good[i].text), &v, NULL), 0);
	}
}

static void what_is_no_JSON_number_is_refused(void **state)
{
	static const char *const bad[] = { "", "-", "+1", ".5", "5.", "01", "-01", "1e", "1e+",
		"1.e3", "0x10", "NaN", "Infinity", " 1", "1 ", "1.2.3", "abc", "1e5x", "--1" };
	int64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(str_milli(slice_of(bad[i]), &v, NULL), -EBADMSG);
	assert_int_equal(str_milli((struct slice){ NULL, 0 }, &v, NULL), -EBADMSG);
}

static void numbers_too_large_are_told_apart(void **state)
{
	static const char *const big[] = { "9223372036854775.808", "1e16", "-1e17",
		"1e99999999999999999999999999", "123456789012345678901234567890" };
	int64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(big); i++)
		assert_int_equal(str_milli(slice_of(big[i]), &v, NULL), -ERANGE);
}

static void every_code_point_written_is_read_back_as_one_sequence(void **state)
{
	struct buf b = unit_buf(16);
	uint32_t c;
	int want;

	(void)state;
	for (c = 0; c <= 0x10ffff; c++) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		buf_cut(&b, 0);
		utf8_put(&b, c);
		want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (b.len != (size_t)want || utf8_seq(buf_all(&b)) != want ||
			utf8_quick(buf_all(&b)) != want)
			fail();
	}
	buf_release(&b);
}

static void no_surrogate_and_nothing_too_large_is_written(void **state)
{
	struct buf b = unit_buf(64);

	(void)state;
	utf8_put(&b, 0xd800);
	utf8_put(&b, 0xdfff);
	utf8_put(&b, 0x110000);
	utf8_put(&b, UINT32_MAX);
	assert_slice(buf_all(&b), "\ufffd\ufffd\ufffd\ufffd");
	buf_release(&b);
}

static void ill_formed_sequences_are_told_from_unfinished_ones(void **state)
{
	(void)state;
	assert_int_equal(utf8_seq((struct slice){ NULL, 0 }), 0);
	assert_int_equal(utf8_seq(LIT("\xc3")), -1);
	assert_int_equal(utf8_seq(LIT("\xe2\x82")), -1);
	assert_int_equal(utf8_seq(LIT("\xf0\x9f\x98")), -1);
	assert_int_equal(utf8_seq(LIT("\x80")), -2);
	assert_int_equal(utf8_seq(LIT("\xc0\xaf")), -2);
	assert_int_equal(utf8_seq(LIT("\xc1")), -2);
	assert_int_equal(utf8_seq(LIT("\xe0\x9f\xbf")), -2);
	assert_int_equal(utf8_seq(LIT("\xed\xa0\x80")), -2);
	assert_int_equal(utf8_seq(LIT("\xf0\x8f")), -2);
	assert_int_equal(utf8_seq(LIT("\xf4\x90")), -2);
	assert_int_equal(utf8_seq(LIT("\xf5")), -2);
	assert_int_equal(utf8_seq(LIT("\xc3\x28")), -2);
}

static void the_quick_look_agrees_with_the_careful_one(void **state)
{
	static const unsigned char third[] = { 0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff };
	unsigned char s[4] = { 0, 0, 0, 0x80 };
	struct slice part = { (char *)s, 0 };
	unsigned lead, second;
	size_t i;

	(void)state;
	for (lead = 0; lead < 256; lead++)
		for (second = 0; second < 256; second++)
			for (i = 0; i < COUNT(third); i++) {
				s[0] = (unsigned char)lead;
				s[1] = (unsigned char)second;
				s[2] = third[i];
				for (part.n = 1; part.n <= 4; part.n++)
					if (utf8_quick(part) != utf8_seq(part))
						fail();
			}
}

static void repair(const char *text, size_t n, const char *want, size_t count)
{
	struct buf b = unit_buf(4096);
	char *exact = malloc(n);

	memcpy(exact, text, n);
	assert_int_equal(utf8_repair(&b, (struct slice){ exact, n }), count);
	assert_same(buf_all(&b), slice_of(want));
	free(exact);
	buf_release(&b);
}

#define REPAIR(text, want, count) repair(text, sizeof(text) - 1, want, count)

/* The examples of Unicode 3.9, tables 3-8 to 3-11. */
static void each_maximal_subpart_becomes_one_replacement(void **state)
{
	(void)state;
	REPAIR("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
		"\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\x41", 8);
	REPAIR("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
		"\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\x41", 8);
	REPAIR("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
		"\ufffd\ufffd\ufffd\ufffd\ufffd\x41\ufffd\ufffd\x42", 7);
	REPAIR("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\ufffd\ufffd\ufffd\ufffd\x41", 4);
}

static void good_text_is_repaired_to_itself(void **state)
{
	(void)state;
	REPAIR("plain ascii of more than eight bytes", "plain ascii of more than eight bytes", 0);
	REPAIR("gr\u00fc\u00dfe \u4f60\u597d \U0001f600", "gr\u00fc\u00dfe \u4f60\u597d \U0001f600",
		0);
}

static void an_unfinished_end_becomes_one_replacement(void **state)
{
	(void)state;
	REPAIR("12345678\xf0\x9f\x98", "12345678\ufffd", 1);
	REPAIR("\xe2", "\ufffd", 1);
}

static void splitting_gives_every_part_and_ends_empty(void **state)
{
	struct slice rest = LIT("a,,bc,");

	(void)state;
	assert_slice(str_split(&rest, ','), "a");
	assert_slice(str_split(&rest, ','), "");
	assert_slice(str_split(&rest, ','), "bc");
	assert_int_equal(rest.n, 0);
	assert_slice(str_split(&rest, ','), "");
	rest = LIT("no comma");
	assert_slice(str_split(&rest, ','), "no comma");
	assert_int_equal(rest.n, 0);
	rest = (struct slice){ NULL, 0 };
	assert_int_equal(str_split(&rest, ',').n, 0);
}

static void trimming_takes_blanks_at_both_ends_only(void **state)
{
	(void)state;
	assert_slice(str_trim(LIT(" \t\r\n a b \n")), "a b");
	assert_slice(str_trim(LIT(" \n ")), "");
	assert_slice(str_trim(LIT("")), "");
	assert_int_equal(str_trim((struct slice){ NULL, 0 }).n, 0);
	assert_slice(str_trim(LIT("\v\f")), "\v\f");
}

static void words_stand_between_blanks(void **state)
{
	struct slice rest = LIT(" \ta b\r\n\nc d\v ");

	(void)state;
	assert_slice(str_word(&rest), "a");
	assert_slice(str_word(&rest), "b");
	assert_slice(str_word(&rest), "c");
	assert_slice(str_word(&rest), "d\v");
	assert_int_equal(str_word(&rest).n, 0);
	assert_int_equal(rest.n, 0);
	rest = (struct slice){ NULL, 0 };
	assert_int_equal(str_word(&rest).n, 0);
}

static void a_word_of_a_list_is_found_whole(void **state)
{
	(void)state;
	assert_true(str_among(LIT("a"), "a|bc", '|'));
	assert_true(str_among(LIT("bc"), "a|bc", '|'));
	assert_false(str_among(LIT("b"), "a|bc", '|'));
	assert_false(str_among(LIT("a|bc"), "a|bc", '|'));
	assert_false(str_among(LIT(""), "a|bc", '|'));
	assert_false(str_among(LIT("a"), "", '|'));
}

static void prefixes_and_bytes_are_found(void **state)
{
	(void)state;
	assert_true(str_starts(LIT("path/x"), "path/"));
	assert_true(str_starts(LIT("x"), ""));
	assert_true(str_starts((struct slice){ NULL, 0 }, ""));
	assert_false(str_starts(LIT("pat"), "path"));
	assert_true(str_has(LIT("a\0b"), '\0'));
	assert_false(str_has(LIT("ab"), '\0'));
	assert_false(str_has((struct slice){ NULL, 0 }, 'a'));
}

static void a_C_string_is_ended_and_never_too_long(void **state)
{
	char mem[4];

	(void)state;
	assert_int_equal(str_c(LIT("abc"), mem, sizeof(mem)), 0);
	assert_string_equal(mem, "abc");
	assert_int_equal(str_c((struct slice){ NULL, 0 }, mem, sizeof(mem)), 0);
	assert_string_equal(mem, "");
	assert_int_equal(str_c(LIT("abcd"), mem, sizeof(mem)), -ENAMETOOLONG);
	assert_int_equal(str_c(LIT("a\0c"), mem, sizeof(mem)), -EINVAL);
}

static void hex_is_lower_case_and_ended(void **state)
{
	static const unsigned char bytes[] = { 0x00, 0x0f, 0xa5, 0xff };
	char out[9];

	(void)state;
	str_hex(bytes, sizeof(bytes), out);
	assert_string_equal(out, "000fa5ff");
	str_hex(bytes, 0, out);
	assert_string_equal(out, "");
}

static void slices_compare_by_bytes_and_length(void **state)
{
	(void)state;
	assert_true(slice_eq(LIT(""), (struct slice){ NULL, 0 }));
	assert_true(slice_is(LIT("ab"), "ab"));
	assert_false(slice_is(LIT("ab\0"), "ab"));
	assert_false(slice_is(LIT("ab"), "abc"));
	assert_slice(slice_from(LIT("abc"), 1), "bc");
	assert_int_equal(slice_from((struct slice){ NULL, 0 }, 0).n, 0);
}

/* "a", U+00E9, U+20AC, U+1F389, "b": cut at every byte. */
static void a_cut_text_ends_and_begins_with_whole_characters(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\x89"
				   "b";
	static const size_t whole[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };

	(void)state;
	for (size_t n = 0; n < COUNT(whole); n++) {
		assert_int_equal(utf8_whole((struct slice){ text, n }).n, whole[n]);
		/* what follows the cut: the rest of the character that was cut off */
		size_t rest = utf8_rest((struct slice){ text + n, sizeof(text) - 1 - n });
		size_t next = n;

		while (next < sizeof(text) - 1 && ((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		assert_int_equal(rest, next - n);
	}
	assert_int_equal(utf8_whole(LIT("\x80\x80\x80\x80")).n, 4); /* no sequence begins there */
	assert_int_equal(utf8_rest(LIT("\x80\x80\x80\x80")), 3);
	assert_int_equal(utf8_whole(LIT("\xff")).n, 1);
}

static void test_what_is_made_of_letters_digits_and_marks_alone(void **state)
{
	(void)state;
	assert_true(str_only(LIT("aZ09-_"), "-_"));
	assert_true(str_only(LIT(""), ""));
	assert_false(str_only(LIT("a-b"), "_"));
	assert_false(str_only(LIT("a b"), "-_"));
	assert_false(str_only(LIT("a\0b"), "-_"));
	assert_false(str_only(LIT("\xc3\xa4"), "-_"));
	for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
		char byte = (char)c;

		assert_int_equal(str_only((struct slice){ &byte, 1 }, ""),
			c > 0 && memchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
					"wxyz",
					 c, 62));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_read_to_the_ends_of_their_range),
		cmocka_unit_test(what_is_no_integer_is_refused),
		cmocka_unit_test(integers_out_of_range_are_told_apart),
		cmocka_unit_test(numbers_become_thousandths),
		cmocka_unit_test(what_is_no_JSON_number_is_refused),
		cmocka_unit_test(numbers_too_large_are_told_apart),
		cmocka_unit_test(every_code_point_written_is_read_back_as_one_sequence),
		cmocka_unit_test(no_surrogate_and_nothing_too_large_is_written),
		cmocka_unit_test(ill_formed_sequences_are_told_from_unfinished_ones),
		cmocka_unit_test(the_quick_look_agrees_with_the_careful_one),
		cmocka_unit_test(each_maximal_subpart_becomes_one_replacement),
		cmocka_unit_test(good_text_is_repaired_to_itself),
		cmocka_unit_test(an_unfinished_end_becomes_one_replacement),
		cmocka_unit_test(splitting_gives_every_part_and_ends_empty),
		cmocka_unit_test(trimming_takes_blanks_at_both_ends_only),
		cmocka_unit_test(words_stand_between_blanks),
		cmocka_unit_test(a_word_of_a_list_is_found_whole),
		cmocka_unit_test(prefixes_and_bytes_are_found),
		cmocka_unit_test(a_C_string_is_ended_and_never_too_long),
		cmocka_unit_test(hex_is_lower_case_and_ended),
		cmocka_unit_test(slices_compare_by_bytes_and_length),
		cmocka_unit_test(a_cut_text_ends_and_begins_with_whole_characters),
		cmocka_unit_test(test_what_is_made_of_letters_digits_and_marks_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
