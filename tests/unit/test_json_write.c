#include "unit.h"

#include "bounds.h"
#include "base/str.h"
#include "json/json.h"
#include "json/json_write.h"

static struct buf out;
static struct jw w;

static int fresh(void **state)
{
	(void)state;
	out = unit_buf(4 * MIB);
	jw_init(&w, &out);
	return 0;
}

static int release(void **state)
{
	(void)state;
	buf_release(&out);
	return 0;
}

/* s as a JSON string, whole or in pieces; each piece in memory of its own. */
static void put_in_pieces(struct slice s, size_t piece)
{
	size_t n;
	char *copy;

	buf_cut(&out, 0);
	jw_init(&w, &out);
	jw_text_open(&w, NULL);
	while (s.n > 0) {
		n = s.n < piece ? s.n : piece;
		copy = malloc(n);
		memcpy(copy, s.p, n);
		jw_text(&w, (struct slice){ copy, n });
		free(copy);
		s = slice_from(s, n);
	}
	jw_text_close(&w);
}

static void assert_string(struct slice s, struct slice want, size_t repaired)
{
	size_t piece;

	for (piece = 1; piece <= 10; piece++) {
		put_in_pieces(s, piece < 10 ? piece : s.n);
		assert_same(buf_all(&out), want);
		assert_int_equal(w.repaired, repaired);
	}
	buf_cut(&out, 0);
	jw_init(&w, &out);
	jw_str(&w, NULL, s);
	assert_same(buf_all(&out), want);
	assert_int_equal(w.repaired, repaired);
}

#define STRING(text, want, repaired) assert_string(LIT(text), LIT(want), repaired)

static void nesting_and_commas_are_kept_by_the_writer(void **state)
{
	(void)state;
	jw_object(&w, NULL);
	jw_int(&w, "a", 1);
	jw_array(&w, "b");
	jw_array(&w, NULL);
	jw_close(&w);
	jw_object(&w, NULL);
	jw_close(&w);
	jw_bool(&w, NULL, true);
	jw_bool(&w, NULL, false);
	jw_null(&w, NULL);
	jw_close(&w);
	jw_object(&w, "c");
	jw_str(&w, "d", LIT("e"));
	jw_raw(&w, "f", LIT("[1]"));
	jw_close(&w);
	jw_null(&w, "g");
	jw_close(&w);
	assert_slice(buf_all(&out),
		"{\"a\":1,\"b\":[[],{},true,false,null],\"c\":{\"d\":\"e\",\"f\":[1]},\"g\":null}");
}

static void integers_are_written_to_the_ends_of_their_range(void **state)
{
	(void)state;
	jw_array(&w, NULL);
	jw_int(&w, NULL, INT64_MIN);
	jw_int(&w, NULL, INT64_MAX);
	jw_int(&w, NULL, 0);
	jw_close(&w);
	assert_slice(buf_all(&out), "[-9223372036854775808,9223372036854775807,0]");
}

static void levels_too_many_to_keep_account_of_fail(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 63; i++)
		jw_array(&w, NULL);
	jw_int(&w, NULL, 1);
	jw_int(&w, NULL, 2);
	assert_false(out.failed);
	assert_memory_equal(out.p + out.len - 4, "[1,2", 4);
	jw_array(&w, NULL);
	jw_array(&w, NULL);
	assert_true(out.failed);
	for (i = 0; i < 65; i++)
		jw_close(&w);
}

static void closing_what_was_never_opened_fails(void **state)
{
	(void)state;
	jw_array(&w, NULL);
	jw_close(&w);
	assert_false(out.failed);
	jw_close(&w);
	assert_true(out.failed);
	assert_slice(buf_all(&out), "[]");
}

static void controls_quote_and_backslash_are_escaped(void **state)
{
	(void)state;
	STRING("\"\\/\b\f\n\r\t", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"", 0);
	STRING("\0\x01\x07\x0b\x0e\x1f", "\"\\u0000\\u0001\\u0007\\u000b\\u000e\\u001f\"", 0);
	STRING("", "\"\"", 0);
}

static void what_needs_no_escape_stays_as_it_is(void **state)
{
	(void)state;
	STRING("\x7f", "\"\x7f\"", 0);
	STRING("\u2028\u2029", "\"\u2028\u2029\"", 0);
	STRING("gr\u00fc\u00dfe \u4f60\u597d \U0001f600",
		"\"gr\u00fc\u00dfe \u4f60\u597d \U0001f600\"", 0);
	STRING("a long run of plain text, longer than a word",
		"\"a long run of plain text, longer than a word\"", 0);
}

static void a_special_byte_is_found_at_every_place_of_a_word(void **state)
{
	static const char special[] = { '"', '\\', '\n', '\0', '\x1f' };
	char text[24], want[40];
	size_t at, i, n;

	(void)state;
	for (i = 0; i < COUNT(special); i++)
		for (at = 0; at < sizeof(text); at++) {
			memset(text, 'x', sizeof(text));
			text[at] = special[i];
			n = 1 + at;
			memset(want, 'x', sizeof(want));
			want[0] = '"';
			n += (size_t)sprintf(want + n, "%s",
				(const char *[]){ "\\\"", "\\\\", "\\n", "\\u0000", "\\u001f" }[i]);
			memset(want + n, 'x', sizeof(text) - at - 1);
			n += sizeof(text) - at - 1;
			want[n++] = '"';
			assert_string(
				(struct slice){ text, sizeof(text) }, (struct slice){ want, n }, 0);
		}
}

static void ill_formed_bytes_become_replacements_and_are_counted(void **state)
{
	(void)state;
	STRING("\xff", "\"\ufffd\"", 1);
	STRING("a\x80\x80z", "\"a\ufffd\ufffdz\"", 2);
	STRING("\xc0\xaf", "\"\ufffd\ufffd\"", 2);
	STRING("\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\"", 3);
	STRING("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\"\ufffd\ufffd\ufffd\ufffd\x41\"", 4);
	STRING("\xf0\x9f\x98\"", "\"\ufffd\\\"\"", 1);
	STRING("\xe2\x82\n", "\"\ufffd\\n\"", 1);
	STRING("\xe2\x82\xe2\x82\xac", "\"\ufffd\u20ac\"", 1);
}

static void a_sequence_unfinished_at_the_end_becomes_one_replacement(void **state)
{
	(void)state;
	STRING("\xc3", "\"\ufffd\"", 1);
	STRING("ok \xf0\x9f\x98", "\"ok \ufffd\"", 1);
	STRING("12345678\xe2\x82", "\"12345678\ufffd\"", 1);
}

static void a_string_right_after_an_unfinished_one_starts_clean(void **state)
{
	(void)state;
	jw_array(&w, NULL);
	jw_str(&w, NULL, LIT("\xe2\x82"));
	jw_str(&w, NULL, LIT("\xac"));
	jw_close(&w);
	assert_slice(buf_all(&out), "[\"\ufffd\",\"\ufffd\"]");
	assert_int_equal(w.repaired, 2);
}

static void the_count_of_repairs_is_of_the_last_open_text(void **state)
{
	(void)state;
	jw_array(&w, NULL);
	jw_str(&w, NULL, LIT("\xff\xff"));
	jw_text_open(&w, NULL);
	jw_text(&w, LIT("\xff"));
	jw_text_close(&w);
	jw_str(&w, NULL, LIT("good"));
	jw_close(&w);
	assert_int_equal(w.repaired, 1);
}

static void printed_text_is_escaped_and_has_no_bound(void **state)
{
	struct buf path = unit_buf(65536);

	(void)state;
	while (path.len < 5000)
		buf_puts(&path, "\"/\xff");
	jw_text_open(&w, NULL);
	jw_text_printf(&w, "Error: %.*s: %s\n", SLICE(buf_all(&path)), "No such file");
	jw_text_close(&w);
	assert_memory_equal(out.p, "\"Error: \\\"/\ufffd\\\"/\ufffd", 19);
	assert_memory_equal(out.p + out.len - 17, ": No such file\\n\"", 17);
	assert_int_equal(w.repaired, path.len / 3);
	buf_release(&path);
}

static void a_sequence_may_be_split_between_printed_parts(void **state)
{
	(void)state;
	jw_text_open(&w, NULL);
	jw_text_printf(&w, "%s", "\xe2\x82");
	jw_text_printf(&w, "%s%d", "\xac", 5);
	jw_text_close(&w);
	assert_slice(buf_all(&out), "\"\u20ac5\"");
}

static void text_fits_a_buf_of_exactly_its_size(void **state)
{
	static const char text[] = "plain text and \"quotes\"\n\x01 gr\u00fc\u00dfe "
				   "\xff\U0001f600\x02\x03\x04 end\x05";
	const struct slice s = { text, sizeof(text) - 1 };
	struct buf small;
	size_t need;
	char *mem;

	(void)state;
	jw_str(&w, NULL, s);
	need = out.len;
	mem = malloc(need);
	buf_over(&small, mem, need);
	jw_init(&w, &small);
	jw_str(&w, NULL, s);
	assert_false(small.failed);
	assert_same(buf_all(&small), buf_all(&out));
	buf_over(&small, mem, need - 1);
	jw_init(&w, &small);
	jw_str(&w, NULL, s);
	assert_true(small.failed);
	free(mem);
}

static void a_text_too_long_fails_once_and_for_all(void **state)
{
	char mem[64];
	struct buf small;
	int i;

	(void)state;
	buf_over(&small, mem, sizeof(mem));
	jw_init(&w, &small);
	jw_text_open(&w, NULL);
	for (i = 0; i < 100; i++)
		jw_text(&w, LIT("\n\xe2\x82\xac\xe2"));
	jw_text_close(&w);
	assert_true(small.failed);
	assert_true(small.len <= sizeof(mem));
}

static void every_byte_comes_back_from_the_reader(void **state)
{
	struct buf text = unit_buf(MIB), mem = unit_buf(65536), want = unit_buf(4 * MIB);
	struct json d;
	struct slice s;
	unsigned i;

	(void)state;
	for (i = 0; i < 65536; i++)
		buf_printf(&text, "%c%c ", (int)(i >> 8), (int)(i & 255));
	utf8_repair(&want, buf_all(&text));
	jw_str(&w, NULL, buf_all(&text));
	assert_int_equal(json_parse(&d, out.p, out.len, &mem), 0);
	assert_int_equal(json_str(&d, 0, &s), 0);
	assert_same(s, buf_all(&want));
	buf_release(&text);
	buf_release(&mem);
	buf_release(&want);
}

#define WRITE_TEST(f) cmocka_unit_test_setup_teardown(f, fresh, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WRITE_TEST(nesting_and_commas_are_kept_by_the_writer),
		WRITE_TEST(integers_are_written_to_the_ends_of_their_range),
		WRITE_TEST(levels_too_many_to_keep_account_of_fail),
		WRITE_TEST(closing_what_was_never_opened_fails),
		WRITE_TEST(controls_quote_and_backslash_are_escaped),
		WRITE_TEST(what_needs_no_escape_stays_as_it_is),
		WRITE_TEST(a_special_byte_is_found_at_every_place_of_a_word),
		WRITE_TEST(ill_formed_bytes_become_replacements_and_are_counted),
		WRITE_TEST(a_sequence_unfinished_at_the_end_becomes_one_replacement),
		WRITE_TEST(a_string_right_after_an_unfinished_one_starts_clean),
		WRITE_TEST(the_count_of_repairs_is_of_the_last_open_text),
		WRITE_TEST(printed_text_is_escaped_and_has_no_bound),
		WRITE_TEST(a_sequence_may_be_split_between_printed_parts),
		WRITE_TEST(text_fits_a_buf_of_exactly_its_size),
		WRITE_TEST(a_text_too_long_fails_once_and_for_all),
		WRITE_TEST(every_byte_comes_back_from_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
