/*
 * The chunked coding, fed whole and in pieces of every size.
 */
#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "http/chunked.h"

static char body[4096];

struct outcome {
	int r;
	size_t body, used;
};

static struct outcome feed(struct slice in, size_t piece)
{
	struct outcome o = { 0 };
	struct slice now, part;
	struct chunked c;
	size_t given;

	chunked_init(&c);
	while (o.r == 0 && o.used < in.n) {
		now = slice_head(slice_from(in, o.used), piece);
		given = now.n;
		o.r = chunked_take(&c, &now, &part);
		if (o.r < 0)
			break;
		assert_true(o.body + part.n <= sizeof(body));
		memcpy(body + o.body, part.p, part.n);
		o.body += part.n;
		o.used += given - now.n;
		assert_true(o.r == 1 || now.n < given);
	}
	return o;
}

/* rest: what must be left over behind the end. */
static void decodes(struct slice in, struct slice want, size_t rest)
{
	struct outcome o;

	for (size_t piece = in.n; piece > 0; piece--) {
		o = feed(in, piece);
		assert_int_equal(o.r, 1);
		assert_same(((struct slice){ body, o.body }), want);
		assert_int_equal(in.n - o.used, rest);
	}
}

static void ends_with(struct slice in, int r)
{
	for (size_t piece = in.n; piece > 0; piece--) {
		struct outcome o = feed(in, piece);

		if (o.r != r)
			fprintf(stderr, "in: %.*s\n", SLICE(in));
		assert_int_equal(o.r, r);
	}
}

#define BAD(text) ends_with(LIT(text), -EBADMSG)
#define MORE(text) ends_with(LIT(text), 0)

static void test_chunks_become_one_body(void **state)
{
	(void)state;
	decodes(LIT("0\r\n\r\n"), LIT(""), 0);
	decodes(LIT("5\r\nhello\r\n0\r\n\r\n"), LIT("hello"), 0);
	decodes(LIT("1\r\na\r\n2\r\nbc\r\n000\r\n\r\n"), LIT("abc"), 0);
	decodes(LIT("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"),
		LIT("01234567890123456789a"), 0);
	decodes(LIT("000000000000003\r\n\r\n\0\r\n0\r\n\r\n"), LIT("\r\n\0"), 0);
	decodes(LIT("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), LIT("0\r\n\r\n"), 0);
}

static void test_what_follows_is_left(void **state)
{
	(void)state;
	decodes(LIT("0\r\n\r\nGET / HTTP/1.1\r\n"), LIT(""), 16);
	decodes(LIT("1\r\na\r\n0\r\n\r\n0\r\n\r\n"), LIT("a"), 5);
}

static void test_extensions_and_trailers_are_dropped(void **state)
{
	(void)state;
	decodes(LIT("1;a\r\na\r\n0;b=c;d=\"e f\"\r\n\r\n"), LIT("a"), 0);
	decodes(LIT("1 ; a=b\r\na\r\n0\t\r\n\r\n"), LIT("a"), 0);
	decodes(LIT("1\r\na\r\n0\r\nA: b\r\nContent-Length: 5\r\n\r\nx"), LIT("a"), 1);
}

static void test_an_unfinished_body_waits(void **state)
{
	(void)state;
	MORE("5");
	MORE("5\r");
	MORE("5\r\n");
	MORE("5\r\nhell");
	MORE("5\r\nhello");
	MORE("5\r\nhello\r\n");
	MORE("0\r\n");
	MORE("0\r\n\r");
	MORE("0\r\nA: b\r\n");
	MORE("0\r\nA: b\r\n\r");
	MORE("fffffffffffffff\r\nabc");
}

static void test_malformed_sizes(void **state)
{
	(void)state;
	BAD("\r\n");
	BAD(";a\r\n");
	BAD(" 5\r\nhello\r\n");
	BAD("x\r\n");
	BAD("5x\r\n");
	BAD("0x5\r\nhello\r\n");
	BAD("+5\r\nhello\r\n");
	BAD("-5\r\n");
	BAD("5 5\r\nhello\r\n");
	BAD("5\t0\r\nhello\r\n");
	BAD("1000000000000005\r\nhello\r\n");
	BAD("10000000000000005\r\nhello\r\n");
	BAD("5\0\r\n");
	BAD("\xb5\r\n");
}

static void test_lines_end_with_cr_lf_only(void **state)
{
	(void)state;
	BAD("5\nhello\r\n");
	BAD("5\r\r\nhello\r\n");
	BAD("5\rhello\r\n");
	BAD("5\r\nhello\n");
	BAD("5\r\nhellox\r\n");
	BAD("5\r\nhello\rx");
	BAD("5\r\nhello5\r\n");
	BAD("5;a\nhello\r\n");
	BAD("5;a\rb\r\n");
	BAD("5;a\0b\r\n");
	BAD("0\r\n\n");
	BAD("0\r\nA: b\n\r\n");
	BAD("0\r\nA: b\rc\r\n");
	BAD("0\r\n\rx");
}

static struct outcome feed_long(const char *begin, const char *again, size_t bytes)
{
	static char text[HTTP_HEAD_MAX + 64];
	size_t n = strlen(begin);

	memcpy(text, begin, n);
	for (size_t done = 0; done < bytes; done++)
		text[n++] = again[done % strlen(again)];
	return feed((struct slice){ text, n }, 1000);
}

static void test_extensions_and_trailers_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(feed_long("5;", "a", HTTP_HEAD_MAX).r, 0);
	assert_int_equal(feed_long("5;", "a", HTTP_HEAD_MAX + 1).r, -EBADMSG);
	assert_int_equal(feed_long("5", " ", HTTP_HEAD_MAX + 2).r, -EBADMSG);
	assert_int_equal(feed_long("0\r\n", "a", HTTP_HEAD_MAX + 1).r, -EBADMSG);
	assert_int_equal(feed_long("0\r\n", "a: b\r\n", HTTP_HEAD_MAX + 32).r, 0);
}

static void test_the_end_is_the_end(void **state)
{
	struct slice in = LIT("0\r\n\r\nmore"), part;
	struct chunked c;

	(void)state;
	chunked_init(&c);
	assert_int_equal(chunked_take(&c, &in, &part), 1);
	assert_int_equal(chunked_take(&c, &in, &part), 1);
	assert_int_equal(part.n, 0);
	assert_slice(in, "more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_become_one_body),
		cmocka_unit_test(test_what_follows_is_left),
		cmocka_unit_test(test_extensions_and_trailers_are_dropped),
		cmocka_unit_test(test_an_unfinished_body_waits),
		cmocka_unit_test(test_malformed_sizes),
		cmocka_unit_test(test_lines_end_with_cr_lf_only),
		cmocka_unit_test(test_extensions_and_trailers_are_bounded),
		cmocka_unit_test(test_the_end_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
