/*
 * Replies, fed whole, byte by byte and in pieces in between: heads, framings, what is refused
 * (sandbox-tools.md H5, H7, H11).
 */
#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "http/reply.h"

enum { CHUNKS = 1000 };

struct outcome {
	int r;
	size_t used;
	struct slice body;
	struct http_reply reply;
};

static char head_mem[HTTP_HEAD_MAX], body_mem[64 * KIB];
static struct buf head;

static struct outcome feed(struct slice in, size_t piece)
{
	struct outcome o = { 0 };
	struct slice now, part;
	size_t given, n = 0;

	buf_over(&head, head_mem, sizeof(head_mem));
	http_reply_init(&o.reply, &head);
	while (o.r == 0 && o.used < in.n) {
		now = slice_head(slice_from(in, o.used), piece);
		given = now.n;
		o.r = http_reply_take(&o.reply, &now, &part);
		if (o.r < 0)
			break;
		assert_true(o.r == 1 || now.n < given);
		assert_true(n + part.n <= sizeof(body_mem));
		memcpy(body_mem + n, part.p, part.n);
		n += part.n;
		o.used += given - now.n;
	}
	o.body = (struct slice){ body_mem, n };
	return o;
}

/* The same whatever the pieces; gives the outcome of the last way, byte by byte. */
static struct outcome outcome_of(struct slice in)
{
	struct outcome whole = feed(in, in.n), o = whole;

	for (size_t piece = in.n; piece > 0; piece = piece > 40 ? piece / 2 : piece - 1) {
		o = feed(in, piece);
		assert_int_equal(o.r, whole.r);
		assert_int_equal(o.reply.status, whole.reply.status);
		assert_int_equal(o.reply.keep_alive, whole.reply.keep_alive);
		if (o.r < 0)
			assert_string_equal(o.reply.wrong, whole.reply.wrong);
		else
			assert_int_equal(o.used, whole.used);
		if (o.r >= 0)
			assert_int_equal(o.reply.got, o.body.n);
	}
	return o;
}

static struct outcome whole(struct slice in, struct slice body)
{
	struct outcome o = outcome_of(in);

	if (o.r != 1)
		fprintf(stderr, "%d: %s\n", o.r, o.reply.wrong ? o.reply.wrong : "");
	assert_int_equal(o.r, 1);
	assert_same(o.body, body);
	return o;
}

static void refused(struct slice in, int r, const char *words)
{
	struct outcome o = outcome_of(in);

	if (o.r != r)
		fprintf(stderr, "in: %.*s\n", SLICE(in));
	assert_int_equal(o.r, r);
	assert_non_null(o.reply.wrong);
	assert_non_null(strstr(o.reply.wrong, words));
}

#define OK "HTTP/1.1 200 OK\r\n"
#define WHOLE(text, body) whole(LIT(text), LIT(body))
#define BAD(text, words) refused(LIT(text), -EBADMSG, words)
#define BIG(text, words) refused(LIT(text), -E2BIG, words)
#define MORE(text) assert_int_equal(outcome_of(LIT(text)).r, 0)

static void test_a_head_is_taken_apart(void **state)
{
	struct outcome o = WHOLE("HTTP/1.1 503 Service  Unavailable\r\ncOntent-Length:2\r\n"
				 "CONTENT-TYPE: application/json; charset=utf-8 \r\n"
				 "retry-after: 7\r\nLocation:\thttps://h/x\t\r\nx: y\r\n\r\nhi",
		"hi");

	(void)state;
	assert_int_equal(o.reply.status, 503);
	assert_int_equal(o.reply.minor, 1);
	assert_slice(o.reply.reason, "Service  Unavailable");
	assert_slice(o.reply.type, "application/json; charset=utf-8");
	assert_slice(o.reply.retry_after, "7");
	assert_slice(o.reply.location, "https://h/x");
	assert_int_equal(o.reply.length, 2);
	assert_true(o.reply.keep_alive);
}

static void test_what_is_absent_is_null_and_the_first_of_two_counts(void **state)
{
	struct outcome o = WHOLE("HTTP/1.1 204\r\n\r\n", "");

	(void)state;
	assert_int_equal(o.reply.status, 204);
	assert_slice(o.reply.reason, "");
	assert_null(o.reply.type.p);
	assert_null(o.reply.retry_after.p);
	assert_null(o.reply.location.p);
	assert_int_equal(o.reply.length, -1);
	o = WHOLE(OK "Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 0\r\n\r\n", "");
	assert_slice(o.reply.type, "a/b");
}

static void test_a_body_ends_with_its_length(void **state)
{
	struct outcome o = WHOLE(OK "Content-Length: 5\r\n\r\nhelloHTTP/1.1 200", "hello");

	(void)state;
	assert_int_equal(o.used, sizeof(OK "Content-Length: 5\r\n\r\nhello") - 1);
	WHOLE(OK "Content-Length: 0\r\n\r\n", "");
	WHOLE(OK "Content-Length: 005\r\ncontent-length: 5\r\n\r\nhello", "hello");
	WHOLE("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", "x");
	MORE(OK "Content-Length: 5\r\n\r\nhell");
	MORE(OK "Content-Length: 5\r\n\r\n");
	MORE(OK "Content-Length: 5\r\n\r");
	MORE("");
	MORE("HTT");
}

static void test_chunks_with_extensions_and_trailers(void **state)
{
	(void)state;
	WHOLE(OK "transfer-encoding: CHUNKED\r\n\r\n1\r\na\r\n5;x=y\r\nbcdef\r\n0\r\n\r\n",
		"abcdef");
	WHOLE(OK "Transfer-Encoding: chunked\r\n\r\n0;a\r\nTrailer: x\r\nSet: y\r\n\r\n", "");
	MORE(OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n");
	BAD(OK "Transfer-Encoding: chunked\r\n\r\nx", "chunk");
	BAD(OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n", "chunk");
	BAD(OK "Transfer-Encoding: chunked\r\n\r\n1\r\nab", "chunk");
}

/* Extensions may be longer together than one head may be: each chunk has its own bound. */
static void test_many_chunks_with_extensions(void **state)
{
	static char text[256 * KIB];
	struct outcome o;
	size_t n = 0;

	(void)state;
	n += (size_t)sprintf(text, OK "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < CHUNKS; i++)
		n += (size_t)sprintf(text + n, "1;%040d\r\nx\r\n", i);
	n += (size_t)sprintf(text + n, "0\r\n\r\n");
	o = feed((struct slice){ text, n }, 4096);
	assert_int_equal(o.r, 1);
	assert_int_equal(o.body.n, CHUNKS);
}

static void test_a_body_up_to_the_end_of_the_connection(void **state)
{
	struct outcome o = outcome_of(LIT(OK "\r\nall of it"));

	(void)state;
	assert_int_equal(o.r, 0);
	assert_slice(o.body, "all of it");
	assert_false(o.reply.keep_alive);
	assert_int_equal(http_reply_end(&o.reply, false), -EPIPE);
	assert_int_equal(http_reply_end(&o.reply, true), 1);
	o = outcome_of(LIT(OK "\r\n"));
	assert_int_equal(http_reply_end(&o.reply, true), 1);
}

static void test_a_cut_reply_is_not_whole_however_it_was_cut(void **state)
{
	static const char *const cut[] = { "", "HTTP/1.1 2", OK "Content-Length: 5\r\n\r\nhell",
		OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", OK "a: b\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" };
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < COUNT(cut); i++) {
		o = outcome_of(slice_of(cut[i]));
		assert_int_equal(o.r, 0);
		assert_int_equal(http_reply_end(&o.reply, true), -EPIPE);
	}
}

static void test_what_has_no_body(void **state)
{
	struct outcome o = WHOLE("HTTP/1.1 204 No Content\r\n\r\nrest", "");

	(void)state;
	assert_true(o.reply.keep_alive);
	assert_false(
		WHOLE("HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\nhello", "").reply.keep_alive);
	assert_false(WHOLE("HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "")
			     .reply.keep_alive);
	assert_true(WHOLE("HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n", "").reply.keep_alive);
	/* It says how long the body would be that does not come, of any size. */
	o = WHOLE("HTTP/1.1 304 x\r\nContent-Length: 99999999999\r\n\r\n", "");
	assert_int_equal(o.r, 1);
}

#define INTERIM "HTTP/1.1 100 Continue\r\na: b\r\n\r\n"
#define INTERIMS_4 INTERIM INTERIM INTERIM INTERIM
#define INTERIMS_16 INTERIMS_4 INTERIMS_4 INTERIMS_4 INTERIMS_4

static void test_interim_replies_are_skipped(void **state)
{
	struct outcome o;

	(void)state;
	o = WHOLE(INTERIM "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nLocation: /x\r\n"
			  "Connection: close\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi",
		"hi");
	assert_int_equal(o.reply.status, 200);
	assert_null(o.reply.location.p);
	assert_true(o.reply.keep_alive);
	WHOLE(INTERIMS_16 OK "Content-Length: 2\r\n\r\nhi", "hi");
	BIG(INTERIMS_16 INTERIM OK "Content-Length: 2\r\n\r\nhi", "interim");
	BAD("HTTP/1.1 101 Switching Protocols\r\n\r\n", "protocol");
}

static void test_what_is_kept_alive(void **state)
{
	(void)state;
#define KEPT(line, fields)                                                                         \
	WHOLE(line "\r\nContent-Length: 0\r\n" fields "\r\n", "").reply.keep_alive
	assert_true(KEPT("HTTP/1.1 200", ""));
	assert_true(KEPT("HTTP/1.1 200", "Connection: keep-alive, x\r\n"));
	assert_false(KEPT("HTTP/1.1 200", "Connection: x, Close\r\n"));
	assert_false(KEPT("HTTP/1.1 200", "Connection: close\r\nConnection: keep-alive\r\n"));
	assert_false(KEPT("HTTP/1.0 200", ""));
	assert_true(KEPT("HTTP/1.0 200", "connection: Keep-Alive\r\n"));
	assert_false(KEPT("HTTP/1.0 200", "connection: Keep-Alive, close\r\n"));
}

static void test_what_is_no_http(void **state)
{
	(void)state;
	BAD("x", "HTTP/1.x");
	BAD("\r\n" OK "\r\n", "HTTP/1.x");
	BAD("HTTX", "HTTP/1.x");
	BAD("http/1.1 200 OK\r\n\r\n", "HTTP/1.x");
	BAD("HTTP/2 200 OK\r\n\r\n", "HTTP/1.x");
	BAD("HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.x");
	BAD("HTTP/1.10 200 OK\r\n\r\n", "HTTP/1.x");
	BAD("HTTP/1.1\r\n\r\n", "three digits");
	BAD("HTTP/1.1  200 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 20 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 2000 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 -20 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 +20 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 099 OK\r\n\r\n", "three digits");
	BAD("HTTP/1.1 200 O\x1bK\r\n\r\n", "control");
}

static void test_malformed_fields(void **state)
{
	(void)state;
	BAD(OK "a b: c\r\n\r\n", "field");
	BAD(OK "a : c\r\n\r\n", "field");
	BAD(OK " folded\r\n\r\n", "field");
	BAD(OK "a: b\r\n c\r\n\r\n", "field");
	BAD(OK ": c\r\n\r\n", "field");
	BAD(OK "nothing\r\n\r\n", "field");
	BAD(OK "a: b\rc\r\n\r\n", "field");
	BAD(OK "a: \0\r\n\r\n", "field");
}

static void test_framings_with_two_readings(void **state)
{
	(void)state;
	BAD(OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "differ");
	BAD(OK "Content-Length: -1\r\n\r\n", "no length");
	BAD(OK "Content-Length: +1\r\n\r\n", "no length");
	BAD(OK "Content-Length: \r\n\r\n", "no length");
	BAD(OK "Content-Length: 1, 1\r\n\r\n", "no length");
	BAD(OK "Content-Length: 0x10\r\n\r\n", "no length");
	BAD(OK "Content-Length: 99999999999999999999\r\n\r\n", "no length");
	BAD(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "counts");
	BAD(OK "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", "counts");
	BAD("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "counts");
	BAD("HTTP/1.1 204 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "counts");
	BAD(OK "Transfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding");
	BAD(OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "Transfer-Encoding");
	BAD(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"Transfer-Encoding");
}

static void test_codings_nobody_asked_for(void **state)
{
	(void)state;
	BAD(OK "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "Content-Encoding");
	BAD(OK "Content-Encoding: identity, br\r\n\r\n", "Content-Encoding");
	WHOLE(OK "Content-Encoding: Identity\r\nContent-Length: 0\r\n\r\n", "");
	WHOLE(OK "Content-Encoding:\r\nContent-Length: 0\r\n\r\n", "");
}

/* A head of n bytes in all. */
static struct slice head_of(size_t n)
{
	static char text[2 * HTTP_HEAD_MAX];
	size_t at = (size_t)sprintf(text, OK "Content-Length: 0\r\na: ");

	memset(text + at, 'x', n - at - 4);
	memcpy(text + n - 4, "\r\n\r\n", 4);
	return (struct slice){ text, n };
}

static void test_a_head_has_at_most_16_kib_and_100_fields(void **state)
{
	char text[8 * KIB];
	size_t n;

	(void)state;
	assert_int_equal(feed(head_of(HTTP_HEAD_MAX), 1).r, 1);
	assert_int_equal(feed(head_of(HTTP_HEAD_MAX), 100000).r, 1);
	assert_int_equal(feed(head_of(HTTP_HEAD_MAX + 1), 1).r, -E2BIG);
	assert_int_equal(feed(head_of(HTTP_HEAD_MAX + 1), 100000).r, -E2BIG);
	for (int more = 0; more < 2; more++) {
		n = (size_t)sprintf(text, OK "Content-Length: 0\r\n");
		for (int i = 0; i < HTTP_FIELDS_MAX - 1 + more; i++)
			n += (size_t)sprintf(text + n, "f%d: x\r\n", i);
		n += (size_t)sprintf(text + n, "\r\n");
		assert_int_equal(feed((struct slice){ text, n }, 7).r, more ? -E2BIG : 1);
	}
}

/* Feeds n bytes of a body behind the head; what the last of them gave. */
static int feed_body(const char *begin, uint64_t n)
{
	struct slice in = slice_of(begin), part;
	struct http_reply r;
	int e;

	buf_over(&head, head_mem, sizeof(head_mem));
	http_reply_init(&r, &head);
	do
		e = http_reply_take(&r, &in, &part);
	while (e == 0 && in.n);
	while (e == 0 && n) {
		in = slice_head((struct slice){ body_mem, sizeof(body_mem) }, n);
		n -= in.n;
		e = http_reply_take(&r, &in, &part);
	}
	return e;
}

static void test_a_body_has_at_most_64_mib(void **state)
{
	(void)state;
	BIG(OK "Content-Length: 67108865\r\n\r\n", "64 MiB");
	BIG(OK "Content-Length: 9223372036854775807\r\n\r\n", "64 MiB");
	MORE(OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nabc");
	assert_int_equal(feed_body(OK "Content-Length: 67108864\r\n\r\n", REPLY_BODY_MAX), 1);
	assert_int_equal(feed_body(OK "\r\n", REPLY_BODY_MAX), 0);
	assert_int_equal(feed_body(OK "\r\n", REPLY_BODY_MAX + UINT64_C(1)), -E2BIG);
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n"
	assert_int_equal(feed_body(CHUNKED, REPLY_BODY_MAX), 0);
	assert_int_equal(feed_body(CHUNKED, REPLY_BODY_MAX + UINT64_C(1)), -E2BIG);
}

static void test_without_memory_for_the_head(void **state)
{
	struct slice in = LIT(OK "\r\n"), part;
	struct http_reply r;
	char small[8];

	(void)state;
	buf_over(&head, small, sizeof(small));
	http_reply_init(&r, &head);
	assert_int_equal(http_reply_take(&r, &in, &part), -ENOMEM);
}

static void test_the_end_is_the_end(void **state)
{
	struct outcome o = WHOLE(OK "Content-Length: 2\r\n\r\nhi", "hi");
	struct slice more = LIT("more"), part;

	(void)state;
	assert_int_equal(http_reply_take(&o.reply, &more, &part), 1);
	assert_slice(more, "more");
	assert_int_equal(part.n, 0);
	assert_int_equal(http_reply_end(&o.reply, false), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_head_is_taken_apart),
		cmocka_unit_test(test_what_is_absent_is_null_and_the_first_of_two_counts),
		cmocka_unit_test(test_a_body_ends_with_its_length),
		cmocka_unit_test(test_chunks_with_extensions_and_trailers),
		cmocka_unit_test(test_many_chunks_with_extensions),
		cmocka_unit_test(test_a_body_up_to_the_end_of_the_connection),
		cmocka_unit_test(test_a_cut_reply_is_not_whole_however_it_was_cut),
		cmocka_unit_test(test_what_has_no_body),
		cmocka_unit_test(test_interim_replies_are_skipped),
		cmocka_unit_test(test_what_is_kept_alive),
		cmocka_unit_test(test_what_is_no_http),
		cmocka_unit_test(test_malformed_fields),
		cmocka_unit_test(test_framings_with_two_readings),
		cmocka_unit_test(test_codings_nobody_asked_for),
		cmocka_unit_test(test_a_head_has_at_most_16_kib_and_100_fields),
		cmocka_unit_test(test_a_body_has_at_most_64_mib),
		cmocka_unit_test(test_without_memory_for_the_head),
		cmocka_unit_test(test_the_end_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
