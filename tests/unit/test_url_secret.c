/*
 * Passwords in URLs: found wherever they stand in a text, also where the text was cut; and nothing
 * else is touched.
 */
#include "unit.h"

#include "base/url_secret.h"
#include "bounds.h"

static char masked_mem[4 * MIB];

static struct slice masked(struct slice text, unsigned cut)
{
	struct buf b;
	bool more;

	buf_over(&b, masked_mem, sizeof(masked_mem));
	while (text.n > 0) {
		buf_slice(&b, url_shown(&text, &cut, &more));
		if (more)
			buf_puts(&b, URL_MASK);
	}
	assert_false(b.failed);
	return buf_all(&b);
}

static void check(const char *text, unsigned cut, const char *want)
{
	assert_same(masked(slice_of(text), cut), slice_of(want));
}

static void test_passwords_and_tokens_are_masked(void **state)
{
	static const char *const texts[][2] = {
		{ "https://u:secret@h/x.git", "https://***@h/x.git" },
		{ "https://token@h", "https://***@h" },
		{ "HTTP://token@h", "HTTP://***@h" },
		{ "git+https://token@h/", "git+https://***@h/" },
		{ "ssh://u:secret@h:22/x", "ssh://***@h:22/x" },
		{ "ftp://u:secret@h/", "ftp://***@h/" },
		{ "redis://:secret@h/0", "redis://***@h/0" },
		{ "://u:secret@h/", "://***@h/" },
		{ "https://u:@h/", "https://***@h/" },
		{ "https://:@h/", "https://***@h/" },
		{ "https://u:sec@ret@h/x", "https://***@h/x" },
		{ "https://u:sec%40ret@h/x", "https://***@h/x" },
		{ "https://u:it's\"<a>`b@h/x", "https://***@h/x" },
		{ "https://u:s\xc3\xa9\xff@h/x", "https://***@h/x" },
		{ "a 'https://u:s@h/x': no\nb https://t@i\n",
			"a 'https://***@h/x': no\nb https://***@i\n" },
		{ "https://u:s@h/?next=https://v:t@i/", "https://***@h/?next=https://***@i/" },
		{ "https://https://u:s@h/", "https://https://***@h/" },
		{ "https://a://u:s@h/", "https://a://***@h/" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		check(texts[i][0], 0, texts[i][1]);
}

/* Somebody forgot to encode a slash, a question mark or a hash. */
static void test_a_password_with_a_slash_is_masked(void **state)
{
	static const char *const texts[][2] = {
		{ "'https://u:pa/ss@h/x': bad", "'https://***@h/x': bad" },
		{ "https://u:pa?ss@h/x", "https://***@h/x" },
		{ "https://u:pa#ss@h/x", "https://***@h/x" },
		{ "https://u:8a//b/c@h/x", "https://***@h/x" },
		{ "https://h:80/@x", "https://h:80/@x" },
		{ "https://h:/@x", "https://h:/@x" },
		{ "https://[::1]:80/@x", "https://[::1]:80/@x" },
		{ "https://[fe80::a]/@x", "https://[fe80::a]/@x" },
		{ "http://h:${PORT}/x", "http://h:${PORT}/x" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		check(texts[i][0], 0, texts[i][1]);
}

static void test_nothing_else_is_touched(void **state)
{
	static const char *const texts[] = {
		"",
		"https://",
		"https://h/x.git",
		"https://@h/",
		"https://h/~u:s@i",
		"https://h/@scope/name",
		"https://h?u:s@i",
		"https://h#u:s@i",
		"https://h:443 u:s@i",
		"https:// u:s@i",
		"https://h\nu:s@i",
		"https:/u:s@i/",
		"https:u:s@i/",
		"git@github.com:me/x.git",
		"ssh://git@h/x",
		"ssh://git@h:22/x",
		"rsync://u@h/x",
		"file:///w/a@b",
		"me <me@example.com>",
		"@ -1,2 +3,4 @@ https://h/",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		check(texts[i], 0, texts[i]);
}

static void test_a_cut_end_may_be_half_a_secret(void **state)
{
	static const char *const texts[][2] = {
		{ "see https://u:sec", "see https://***" },
		{ "see https://tok", "see https://***" },
		{ "see https://u:sec@re", "see https://***" },
		{ "see ssh://u:sec", "see ssh://***" },
		{ "see ssh://gi", "see ssh://gi" },
		{ "see https://u:pa/s", "see https://***" },
		{ "see https://h/x", "see https://h/x" },
		{ "see https://u:s@h/x", "see https://***@h/x" },
		{ "see https://", "see https://" },
		{ "https://h https:/", "https://h https:/" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		check(texts[i][0], CUT_END, texts[i][1]);
}

static void test_a_cut_start_may_be_the_other_half(void **state)
{
	static const char *const texts[][2] = {
		{ "cret@h/x and so on", "***@h/x and so on" },
		{ "cr/et@h/x", "***@h/x" },
		{ "//u:secret@h/x", "***@h/x" },
		{ "https://u:s@h/x", "***@h/x" },
		{ "cret@h/x https://v:t@i/", "***@h/x https://***@i/" },
		{ "h/x.git", "h/x.git" },
		{ "@h/x", "@h/x" },
		{ " me@h", " me@h" },
		{ "https://h/ https://v:t@i/", "https://h/ https://***@i/" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		check(texts[i][0], CUT_START, texts[i][1]);
}

static void test_a_word_cut_at_both_ends_is_not_shown(void **state)
{
	(void)state;
	check("onlyonelongword", CUT_START | CUT_END, "***");
	check("one word", CUT_START | CUT_END, "one word");
	check("s@h https://u:t", CUT_START | CUT_END, "***@h https://***");
}

/* Wherever a text is cut in two, no part of the password is left over. */
static void test_no_cut_shows_a_secret(void **state)
{
	static const char text[] = "clone https://user:SECRETWORD@host/x.git failed";
	static const char secret[] = "SECRETWORD";

	(void)state;
	for (size_t i = 0; i <= sizeof(text) - 1; i++) {
		struct slice head = { text, i }, tail = { text + i, sizeof(text) - 1 - i };
		size_t left = 0;

		for (size_t k = 0; k < 2; k++) {
			struct slice s = k == 0 ? masked(head, CUT_END) : masked(tail, CUT_START);

			for (size_t n = sizeof(secret) - 1; n > 1; n--)
				for (size_t at = 0; at + n <= sizeof(secret) - 1; at++)
					if (memmem(s.p, s.n, secret + at, n) && n > left)
						left = n;
		}
		assert_true(left == 0);
	}
}

/* One word of a megabyte: a search of the rest for each URL in it would take minutes. */
static void test_a_long_word_takes_no_time(void **state)
{
	static char text[MIB];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "://a:b/"[i % 7];
	assert_int_equal(masked((struct slice){ text, sizeof(text) }, 0).n, sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "://a:b@"[i % 7];
	masked((struct slice){ text, sizeof(text) }, 0);
	memset(text, ':', sizeof(text));
	assert_int_equal(masked((struct slice){ text, sizeof(text) }, 0).n, sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passwords_and_tokens_are_masked),
		cmocka_unit_test(test_a_password_with_a_slash_is_masked),
		cmocka_unit_test(test_nothing_else_is_touched),
		cmocka_unit_test(test_a_cut_end_may_be_half_a_secret),
		cmocka_unit_test(test_a_cut_start_may_be_the_other_half),
		cmocka_unit_test(test_a_word_cut_at_both_ends_is_not_shown),
		cmocka_unit_test(test_no_cut_shows_a_secret),
		cmocka_unit_test(test_a_long_word_takes_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
