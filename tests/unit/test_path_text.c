/*
 * Paths and names as text: the grammar, prefixes, the escaped form of names.
 */
#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "host/path.h"
#include "host/path_text.h"

static void normal(const char *base, const char *given, const char *want)
{
	char out[PATH_MAX];
	int r = path_normal(base, slice_of(given), out, sizeof(out));

	assert_int_equal(r, 0);
	assert_string_equal(out, want);
}

static void test_the_grammar_is_lexical(void **state)
{
	(void)state;
	normal("/w", "", "/w");
	normal("/w", ".", "/w");
	normal("/w", "a", "/w/a");
	normal("/w", "a/", "/w/a");
	normal("/w", "a//b/./c", "/w/a/b/c");
	normal("/w", "a/../b", "/w/b");
	normal("/w", "..", "/");
	normal("/w", "../../../x", "/x");
	normal("/w", "/", "/");
	normal("/w", "//etc", "/etc");
	normal("/w", "/w/../w2/x", "/w2/x");
	normal("/w", "~/$x ", "/w/~/$x ");
	normal("/w", "...", "/w/...");
	normal("/w", ".a/..b", "/w/.a/..b");
	normal("/", "", "/");
	normal("/", "a", "/a");
	normal("/", "../..", "/");
	normal("/", "/a/..", "/");
}

static void test_a_nul_and_a_path_too_long_are_errors(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(path_normal("/", LIT("a\0b"), out, sizeof(out)), -EINVAL);
	assert_string_equal(out, "");
	assert_int_equal(path_normal("/", LIT("123456"), out, sizeof(out)), 0);
	assert_string_equal(out, "/123456");
	assert_int_equal(path_normal("/", LIT("1234567"), out, sizeof(out)), -ENAMETOOLONG);
	assert_string_equal(out, "");
	assert_int_equal(path_normal("/", LIT("1/../22/../333/../4444"), out, sizeof(out)), 0);
	assert_string_equal(out, "/4444");
}

static void strips(const char *path, const char *prefix, const char *want)
{
	const char *rest = path_strip(path, prefix);

	if (!want)
		assert_null(rest);
	else
		assert_string_equal(rest, want);
}

static void test_a_prefix_is_compared_by_component(void **state)
{
	(void)state;
	strips("/w", "/w", "");
	strips("/w/", "/w", "");
	strips("/w/a/b", "/w", "a/b");
	strips("//w/.//a", "/w", "a");
	strips("/./w/./.", "/w", "");
	strips("/w/..", "/w", "..");
	strips("/w/.a", "/w", ".a");
	strips("/a/b/c", "/a/b", "c");
	strips("/", "/", "");
	strips("/a", "/", "a");
	strips("/w2", "/w", NULL);
	strips("/w2/x", "/w", NULL);
	strips("/", "/w", NULL);
	strips("/a", "/a/b", NULL);
	strips("w/a", "/w", NULL);
	strips("/a/../w/x", "/w", NULL);
}

static void escapes(struct slice name, const char *want)
{
	char mem[64], back[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	path_put_name(&b, name);
	assert_same(buf_all(&b), slice_of(want));
	if (slice_eq(name, slice_of(want))) {
		assert_false(path_unescape(name, back, sizeof(back)));
		return;
	}
	assert_true(path_unescape(slice_of(want), back, sizeof(back)));
	assert_same(slice_of(back), name);
}

static void test_names_are_escaped_so_that_they_can_be_named_again(void **state)
{
	(void)state;
	escapes(LIT("plain"), "plain");
	escapes(LIT("a b\"'$`*"), "a b\"'$`*");
	escapes(LIT("\xc3\xa9"), "\xc3\xa9");
	escapes(LIT("e\xcc\x81"), "e\xcc\x81");
	escapes(LIT("\n\t\r\\"), "\\n\\t\\r\\\\");
	escapes(LIT("\x01\x1b\x7f"), "\\x01\\x1b\\x7f");
	escapes(LIT("\xff"), "\\xff");
	escapes(LIT("a\xe2\x82"
		    "b"),
		"a\\xe2\\x82b");
	escapes(LIT("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	escapes(LIT("\\n"), "\\\\n");
	escapes(LIT("\\x41"), "\\\\x41");
}

static void test_only_the_form_of_listings_is_unescaped(void **state)
{
	static const char *const others[] = {
		"",
		"plain",
		"\\",
		"\\q",
		"\\x",
		"\\x4",
		"\\x41",
		"\\x2e\\x2e",
		"\\x2f",
		"\\x00",
		"\\x0a",
		"\\XFF",
		"\\xFF",
		"\\xc3\\xa9",
		"a\\",
		"\n\\n",
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(path_unescape(slice_of(others[i]), out, sizeof(out)));
	assert_false(path_unescape(LIT("\\n\0"), out, sizeof(out)));
	assert_true(path_unescape(LIT("\\n\\n\\n"), out, 4));
	assert_false(path_unescape(LIT("\\n\\n\\n"), out, 3));
}

static void shown(const char *path, const char *want)
{
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	path_put_shown(&b, path);
	assert_same(buf_all(&b), slice_of(want));
}

static void test_a_clients_path_is_shown_in_a_form_that_leads_there_again(void **state)
{
	(void)state;
	shown("/", "/");
	shown("/w/a", "/w/a");
	shown("/w/a\\nb/c", "/w/a\\nb/c");
	shown("/w/a\nb/c\\d", "/w/a\\nb/c\\d");
	shown("/w/a\n\\b", "/w/a\\n\\\\b");
	shown("/w\xff/a", "/w\\xff/a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_grammar_is_lexical),
		cmocka_unit_test(test_a_nul_and_a_path_too_long_are_errors),
		cmocka_unit_test(test_a_prefix_is_compared_by_component),
		cmocka_unit_test(test_names_are_escaped_so_that_they_can_be_named_again),
		cmocka_unit_test(test_only_the_form_of_listings_is_unescaped),
		cmocka_unit_test(test_a_clients_path_is_shown_in_a_form_that_leads_there_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
