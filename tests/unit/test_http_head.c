/*
 * Request heads: where they end, fed whole and byte by byte; what is read from them; the forms that
 * two parsers could read in two ways.
 */
#include "unit.h"

#include "bounds.h"
#include "http/head.h"

#define HOST "Host: h\r\n"

/* The end found when the bytes come one at a time must be the one found at once. */
static size_t head_end(struct slice in)
{
	size_t scanned = 0, whole, end = 0, n;

	whole = http_head_end(in, &scanned);
	scanned = 0;
	for (n = 0; n <= in.n && !end; n++) {
		end = http_head_end(slice_head(in, n), &scanned);
		assert_true(scanned <= n);
		assert_true(end == 0 || end == n);
	}
	assert_int_equal(end, whole);
	return whole;
}

static int parse(struct http_head *h, struct slice text)
{
	assert_int_equal(head_end(text), text.n);
	return http_head_parse(h, text);
}

static struct http_head parsed(struct slice text)
{
	struct http_head h;

	assert_int_equal(parse(&h, text), 0);
	return h;
}

static void refused(struct slice text, int status)
{
	struct http_head h;
	int got = parse(&h, text);

	if (got != status)
		fprintf(stderr, "in: %.*s\n", SLICE(text));
	assert_int_equal(got, status);
}

#define WITH(fields) parsed(LIT("POST /mcp HTTP/1.1\r\n" HOST fields "\r\n"))
#define REFUSED(fields, status) refused(LIT("POST /mcp HTTP/1.1\r\n" HOST fields "\r\n"), status)
#define TARGET(target) parsed(LIT("GET " target " HTTP/1.1\r\n" HOST "\r\n"))
#define LINE(line, status) refused(LIT(line "\r\n" HOST "\r\n"), status)

static void test_a_head_ends_with_its_empty_line(void **state)
{
	(void)state;
	assert_int_equal(head_end(LIT("")), 0);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\n")), 0);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\n\r")), 0);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\nA: b\r\n\r")), 0);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\n\r\n")), 18);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\n\r\nbody\r\n\r\n")), 18);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\n\n")), 16);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\n\r\nx")), 17);
	assert_int_equal(head_end(LIT("GET / HTTP/1.1\r\n\nx")), 17);
	assert_int_equal(head_end(LIT("a\r\r\nb\r\n \r\nc\n\r\r\n")), 0);
}

static void test_a_request_line_is_taken_apart(void **state)
{
	struct http_head h = TARGET("/mcp?x=1?y");

	(void)state;
	assert_int_equal(h.method, HTTP_GET);
	assert_slice(h.path, "/mcp");
	assert_slice(h.query, "x=1?y");
	assert_int_equal(h.minor, 1);
	assert_int_equal(h.length, -1);
	assert_false(h.chunked);
	assert_true(h.keep_alive);
	assert_int_equal(parsed(LIT("HEAD / HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_HEAD);
	assert_int_equal(parsed(LIT("POST / HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_POST);
	assert_int_equal(parsed(LIT("DELETE / HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_DELETE);
	assert_int_equal(parsed(LIT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_OPTIONS);
	assert_int_equal(parsed(LIT("PUT / HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_OTHER);
	assert_int_equal(parsed(LIT("get / HTTP/1.1\r\n" HOST "\r\n")).method, HTTP_OTHER);
}

static void test_one_empty_line_before_a_request_is_passed_over(void **state)
{
	struct http_head h;

	(void)state;
	assert_slice(parsed(LIT("\r\nGET /a HTTP/1.1\r\n" HOST "\r\n")).path, "/a");
	assert_slice(parsed(LIT("\nGET /a HTTP/1.1\r\n" HOST "\r\n")).path, "/a");
	assert_int_equal(http_head_parse(&h, LIT("\r\n\r\n")), 400);
	LINE("\rGET / HTTP/1.1", 400);
	LINE("\r\r\nGET / HTTP/1.1", 400);
	LINE(" GET / HTTP/1.1", 400);
}

static void test_lines_may_end_with_lf_alone(void **state)
{
	struct http_head h = parsed(LIT("GET /a HTTP/1.1\nHost: h\nOrigin: o\n\n"));

	(void)state;
	assert_slice(h.field[FIELD_HOST], "h");
	assert_slice(h.field[FIELD_ORIGIN], "o");
}

static void test_bad_request_lines(void **state)
{
	(void)state;
	LINE("GET", 400);
	LINE("GET /", 400);
	LINE("GET  / HTTP/1.1", 400);
	LINE("GET /  HTTP/1.1", 400);
	LINE("GET / HTTP/1.1 ", 400);
	LINE("GET /\tHTTP/1.1", 400);
	LINE("GET / a HTTP/1.1", 400);
	LINE("GET /\x80 HTTP/1.1", 400);
	LINE("GET /\x7f HTTP/1.1", 400);
	LINE("GET /\0 HTTP/1.1", 400);
	LINE("GET /\r HTTP/1.1", 400);
	LINE("G(T / HTTP/1.1", 400);
	LINE("G\0T / HTTP/1.1", 400);
	LINE("GET mcp HTTP/1.1", 400);
	LINE("GET ?x HTTP/1.1", 400);
	LINE("CONNECT h:80 HTTP/1.1", 400);
	LINE("GET / http/1.1", 400);
	LINE("GET / HTTP/1.", 400);
	LINE("GET / HTTP/1.10", 400);
	LINE("GET / HTTP/11", 400);
	LINE("GET / HTTP/a.1", 400);
	LINE("GET / HTTP/2.0", 505);
	LINE("GET / HTTP/0.9", 505);
}

static void test_the_absolute_form_counts_instead_of_host(void **state)
{
	struct http_head h = TARGET("http://proxy.example:80/mcp?a");

	(void)state;
	assert_slice(h.path, "/mcp");
	assert_slice(h.query, "a");
	assert_slice(h.field[FIELD_HOST], "proxy.example:80");
	h = TARGET("HTTPS://p");
	assert_slice(h.path, "/");
	assert_slice(h.query, "");
	assert_slice(h.field[FIELD_HOST], "p");
	h = TARGET("http://p?x=/mcp");
	assert_slice(h.path, "/");
	assert_slice(h.field[FIELD_HOST], "p");
	LINE("GET http:// HTTP/1.1", 400);
	LINE("GET http:///mcp HTTP/1.1", 400);
	LINE("GET http:/mcp HTTP/1.1", 400);
	LINE("GET ftp://h/mcp HTTP/1.1", 400);
	refused(LIT("GET http://p/ HTTP/1.1\r\n\r\n"), 400);
}

static void test_paths_are_compared_decoded(void **state)
{
	static const char *const same[] = { "/mcp", "/mcp/", "/%6dcp", "/%6Dcp", "/mc%70", "%2fmcp",
		"/%6d%63%70/" };
	static const char *const others[] = { "", "/", "/mc", "/mcpx", "/MCP", "//mcp", "/mcp//",
		"/mcp/x", "/mcp%", "/mcp%2", "/%6", "/%", "/%g0cp", "/%6gcp", "/mcp%00", "/mcp%2f",
		"/mcp%20", "/%256dcp", "/./mcp", "/mcp#" };

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++)
		assert_true(http_path_is(slice_of(same[i]), "/mcp"));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(http_path_is(slice_of(others[i]), "/mcp"));
	assert_false(http_path_is(LIT("/mcp\0"), "/mcp"));
}

static void test_paths_may_begin_with_a_route(void **state)
{
	struct slice rest;

	(void)state;
	assert_true(http_path_starts(LIT("/session/x%2f/y"), "/session/", &rest));
	assert_slice(rest, "x%2f/y");
	assert_true(http_path_starts(LIT("/%73ession/"), "/session/", &rest));
	assert_slice(rest, "");
	assert_false(http_path_starts(LIT("/session"), "/session/", &rest));
	assert_false(http_path_starts(LIT("/sessions/x"), "/session/", &rest));
	assert_false(http_path_starts(LIT("/session%"), "/session/", &rest));
	assert_false(http_path_starts(LIT(""), "/session/", &rest));
}

static void test_fields_are_found_in_any_case_and_trimmed(void **state)
{
	struct http_head h = WITH("oRIGIN:http://a\r\nAUTHORIZATION: \t Bearer x \t\r\n"
				  "content-type:\r\nX-Other: :ignored:\r\nMcp-Name: \xc3\xa9\r\n");

	(void)state;
	assert_slice(h.field[FIELD_HOST], "h");
	assert_slice(h.field[FIELD_ORIGIN], "http://a");
	assert_slice(h.field[FIELD_AUTHORIZATION], "Bearer x");
	assert_true(http_has(&h, FIELD_CONTENT_TYPE));
	assert_int_equal(h.field[FIELD_CONTENT_TYPE].n, 0);
	assert_slice(h.field[FIELD_MCP_NAME], "\xc3\xa9");
	assert_false(http_has(&h, FIELD_MCP_METHOD));
}

static void test_forwarded_fields_may_stand_twice(void **state)
{
	struct http_head h = WITH("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n"
				  "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: http\r\n");

	(void)state;
	assert_slice(h.field[FIELD_FORWARDED_FOR], "1.2.3.4");
	assert_slice(h.field[FIELD_FORWARDED_PROTO], "https");
}

static void test_bad_fields(void **state)
{
	(void)state;
	REFUSED("Origin\r\n", 400);
	REFUSED(": x\r\n", 400);
	REFUSED("Origin : x\r\n", 400);
	REFUSED("Origin\t: x\r\n", 400);
	REFUSED(" Origin: x\r\n", 400);
	REFUSED("X-Other: a\r\n b\r\n", 400); /* obs-fold */
	REFUSED("X-Other: a\r\n\tb: c\r\n", 400);
	REFUSED("X-Other: a\r\n \r\n", 400);
	REFUSED("X-Other: a\rb\r\n", 400);
	REFUSED("X-Other: a\r\r\n", 400);
	REFUSED("X-Other: a\rTransfer-Encoding: chunked\r\n", 400);
	REFUSED("X-Other: a\0b\r\n", 400);
	REFUSED("X-Other: a\x01\r\n", 400);
	REFUSED("X-Other: a\x0b\r\n", 400);
	REFUSED("X-Other: a\x7f\r\n", 400);
	REFUSED("X\0: a\r\n", 400);
	REFUSED("X\x80: a\r\n", 400);
	REFUSED("X(y): a\r\n", 400);
	REFUSED("[x]: a\r\n", 400);
	REFUSED("\r: a\r\n", 400);
}

static void test_fields_that_stand_once(void **state)
{
	(void)state;
	REFUSED("Host: h\r\n", 400);
	REFUSED("Origin: a\r\nOrigin: a\r\n", 400);
	REFUSED("Authorization: a\r\nauthorization: b\r\n", 400);
	REFUSED("Content-Type: a\r\nContent-Type: a\r\n", 400);
	REFUSED("MCP-Protocol-Version: a\r\nMCP-Protocol-Version: a\r\n", 400);
	REFUSED("Mcp-Method: a\r\nMcp-Method: a\r\n", 400);
	REFUSED("Mcp-Name: a\r\nMcp-Name: a\r\n", 400);
	WITH("X-Other: a\r\nX-Other: a\r\n");
}

static void test_host_is_a_must_in_1_1(void **state)
{
	(void)state;
	refused(LIT("GET / HTTP/1.1\r\n\r\n"), 400);
	parsed(LIT("GET / HTTP/1.0\r\n\r\n"));
	parsed(LIT("GET / HTTP/1.1\r\nHost:\r\n\r\n"));
}

/* field-cases H4, and more of its kind */
static void test_lengths(void **state)
{
	(void)state;
	assert_int_equal(WITH("Content-Length: 5\r\n").length, 5);
	assert_int_equal(WITH("Content-Length:5 \r\n").length, 5);
	assert_int_equal(WITH("Content-Length: 0\r\n").length, 0);
	assert_int_equal(WITH("Content-Length: 9223372036854775807\r\n").length, INT64_MAX);
	REFUSED("Content-Length: 9223372036854775808\r\n", 400);
	REFUSED("Content-Length: 18446744073709551621\r\n", 400);
	REFUSED("Content-Length: 5\r\nContent-Length: 5\r\n", 400);
	REFUSED("Content-Length: 5\r\nContent-Length: 6\r\n", 400);
	REFUSED("Content-Length: 5, 5\r\n", 400);
	REFUSED("Content-Length: 5, 6\r\n", 400);
	REFUSED("Content-Length: +5\r\n", 400);
	REFUSED("Content-Length: -5\r\n", 400);
	REFUSED("Content-Length: 5 5\r\n", 400);
	REFUSED("Content-Length: 0x5\r\n", 400);
	REFUSED("Content-Length: 5.0\r\n", 400);
	REFUSED("Content-Length: 5;\r\n", 400);
	REFUSED("Content-Length: \xd9\xa5\r\n", 400);
	REFUSED("Content-Length:\r\n", 400);
	REFUSED("Content-Length : 5\r\n", 400);
}

static void test_codings(void **state)
{
	(void)state;
	assert_true(WITH("Transfer-Encoding: chunked\r\n").chunked);
	assert_true(WITH("transfer-encoding:\tCHUNKED \r\n").chunked);
	REFUSED("Transfer-Encoding: gzip, chunked\r\n", 501);
	REFUSED("Transfer-Encoding: chunked, chunked\r\n", 501);
	REFUSED("Transfer-Encoding: chunked;q=1\r\n", 501);
	REFUSED("Transfer-Encoding: xchunked\r\n", 501);
	REFUSED("Transfer-Encoding: identity\r\n", 501);
	REFUSED("Transfer-Encoding:\r\n", 501);
	REFUSED("Transfer-Encoding: \x0b"
		"chunked\r\n",
		400);
	REFUSED("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400);
	REFUSED("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400);
	REFUSED("Transfer-Encoding : chunked\r\n", 400);
	REFUSED("Transfer-Encoding\r\n: chunked\r\n", 400);
	REFUSED("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400);
	REFUSED("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400);
	REFUSED("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400);
	REFUSED("Content-Length: 5\r\n Transfer-Encoding: chunked\r\n", 400);
	refused(LIT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

static void test_connections_are_kept_or_not(void **state)
{
	(void)state;
	assert_true(WITH("").keep_alive);
	assert_false(WITH("Connection: close\r\n").keep_alive);
	assert_false(WITH("Connection: keep-alive, Close\r\n").keep_alive);
	assert_false(WITH("Connection: close\r\nConnection: keep-alive\r\n").keep_alive);
	assert_true(WITH("Connection: closed\r\n").keep_alive);
	assert_false(parsed(LIT("GET / HTTP/1.0\r\n\r\n")).keep_alive);
	assert_true(parsed(LIT("GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n")).keep_alive);
	assert_false(parsed(LIT("GET / HTTP/1.0\r\nConnection: close\r\n\r\n")).keep_alive);
}

static void test_expectations(void **state)
{
	(void)state;
	assert_false(WITH("").expect_continue);
	assert_true(WITH("Expect: 100-continue\r\n").expect_continue);
	assert_true(WITH("Expect: 100-CONTINUE\r\n").expect_continue);
	REFUSED("Expect: 200-ok\r\n", 417);
	assert_false(
		parsed(LIT("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")).expect_continue);
}

static void test_what_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(WITH("").accept, ACCEPT_JSON | ACCEPT_SSE);
	assert_int_equal(WITH("Accept: */*\r\n").accept, ACCEPT_JSON | ACCEPT_SSE);
	assert_int_equal(WITH("Accept: application/json\r\n").accept, ACCEPT_JSON);
	assert_int_equal(WITH("Accept: Application/JSON;q=0.9\r\n").accept, ACCEPT_JSON);
	assert_int_equal(WITH("Accept: application/*\r\n").accept, ACCEPT_JSON);
	assert_int_equal(WITH("Accept: text/event-stream\r\n").accept, ACCEPT_SSE);
	assert_int_equal(WITH("Accept: text/*\r\n").accept, ACCEPT_SSE);
	assert_int_equal(WITH("Accept: text/html\r\n").accept, 0);
	assert_int_equal(WITH("Accept: application/json ,text/event-stream; q=1\r\n").accept,
		ACCEPT_JSON | ACCEPT_SSE);
	assert_int_equal(WITH("Accept: application/json\r\nAccept: text/event-stream\r\n").accept,
		ACCEPT_JSON | ACCEPT_SSE);
}

static void test_fields_are_counted(void **state)
{
	static char text[HTTP_HEAD_MAX];
	struct http_head h;
	struct buf b;

	(void)state;
	buf_over(&b, text, sizeof(text));
	buf_puts(&b, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = 1; i < HTTP_FIELDS_MAX; i++)
		buf_printf(&b, "X-%d: %d\r\n", i, i);
	buf_puts(&b, "\r\n");
	assert_int_equal(http_head_parse(&h, buf_all(&b)), 0);
	b.len -= 2;
	buf_puts(&b, "X-Last: 1\r\n\r\n");
	assert_int_equal(http_head_parse(&h, buf_all(&b)), 431);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_head_ends_with_its_empty_line),
		cmocka_unit_test(test_a_request_line_is_taken_apart),
		cmocka_unit_test(test_one_empty_line_before_a_request_is_passed_over),
		cmocka_unit_test(test_lines_may_end_with_lf_alone),
		cmocka_unit_test(test_bad_request_lines),
		cmocka_unit_test(test_the_absolute_form_counts_instead_of_host),
		cmocka_unit_test(test_paths_are_compared_decoded),
		cmocka_unit_test(test_paths_may_begin_with_a_route),
		cmocka_unit_test(test_fields_are_found_in_any_case_and_trimmed),
		cmocka_unit_test(test_forwarded_fields_may_stand_twice),
		cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_fields_that_stand_once),
		cmocka_unit_test(test_host_is_a_must_in_1_1),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_codings),
		cmocka_unit_test(test_connections_are_kept_or_not),
		cmocka_unit_test(test_expectations),
		cmocka_unit_test(test_what_is_accepted),
		cmocka_unit_test(test_fields_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
