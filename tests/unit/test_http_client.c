/*
 * The HTTPS client: what it sends, what it makes of replies, how failures are told
 * (sandbox-tools.md H1, H4 to H7, H9, H11, section 5.2).
 */
#include "client_peer.h"

#include "version.h"

static struct ask a;

/* --- requests --- */

#define COMMON                                                                                     \
	"User-Agent: sandstorm-mcp/" SERVER_VERSION                                                \
	"\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"

static bool request_was(int i, const char *begin, const char *end)
{
	char want[SEEN_TEXT];

	snprintf(want, sizeof(want), "%s\r\nHost: 127.0.0.1:%u\r\n" COMMON "%s", begin, peer_port,
		end);
	if (strcmp(seen->text[i], want) == 0)
		return true;
	fprintf(stderr, "got %s\nwant %s\n", seen->text[i], want);
	return false;
}

/* H1 */
static void a_get(void)
{
	peer_start(peer_answers);
	a.c.fields = LIT("Authorization: Bearer t\r\nX-Y: z\r\n");
	ask(&a, "GET", "/v1/sandboxes?x=%2F");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(request_was(0, "GET /v1/sandboxes?x=%2F HTTP/1.1",
		"Authorization: Bearer t\r\nX-Y: z\r\n\r\n"));
	CHECK(a.c.sent && a.c.got == 2 && a.c.expected == 2);
	CHECK(strcmp(a.c.reason, "OK") == 0 && !a.c.type[0] && !a.c.location[0]);
}
APART(a_get)

/* H1: a body has its type, what has none says so where a server would wait for one. */
static void bodies(void)
{
	peer_start(peer_answers);
	a.c.body = LIT("{\"n\":1}");
	ask(&a, "POST", "/v1/sandboxes");
	CHECK(request_was(0, "POST /v1/sandboxes HTTP/1.1",
		"Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"n\":1}"));
	a.c.body = LIT("");
	ask(&a, "POST", "/x");
	CHECK(request_was(1, "POST /x HTTP/1.1",
		"Content-Type: application/json\r\nContent-Length: 0\r\n\r\n"));
	a.c.body = (struct slice){ 0 };
	ask(&a, "POST", "/x");
	CHECK(request_was(2, "POST /x HTTP/1.1", "Content-Length: 0\r\n\r\n"));
	ask(&a, "DELETE", "/x");
	CHECK(request_was(3, "DELETE /x HTTP/1.1", "\r\n"));
	CHECK(seen->connections == 1);
}
APART(bodies)

/* Section 1: a path prefix is kept and put before every route. */
static void a_prefix(void)
{
	peer_start(peer_answers);
	peer_url("127.0.0.1", "/behind/a%20proxy/");
	ask(&a, "GET", "/v1/x");
	CHECK(request_was(0, "GET /behind/a%20proxy/v1/x HTTP/1.1", "\r\n"));
}
APART(a_prefix)

/* Whatever the socket takes at once. */
static void a_large_body(void)
{
	static char big[REQUEST_BODY_MAX];

	memset(big, 'x', sizeof(big));
	peer_start(peer_answers);
	a.c.body = (struct slice){ big, sizeof(big) };
	ask(&a, "POST", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	ask(&a, "GET", "/y"); /* it came whole: the connection goes on in step */
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(seen->requests == 2 && seen->connections == 1);
}
APART(a_large_body)

/* H9 */
static void a_body_over_the_limit(void)
{
	static char big[REQUEST_BODY_MAX + 1];

	peer_start(peer_answers);
	a.c.body = (struct slice){ big, sizeof(big) };
	ask(&a, "POST", "/x");
	CHECK(ask_says(&a, HTTP_CALL_REQUEST, "over 1 MiB"));
	CHECK(!a.c.sent && seen->connections == 0 && http_client_connections() == 0);
}
APART(a_body_over_the_limit)

/* H4: a path that leads elsewhere, or out of the request, never leaves. */
static void targets(void)
{
	static const char *const bad[] = { "", "v1", "/a b", "/a\r\nX: y", "/\x7f", "/\xc3\xa9",
		"/v1/../snapshots", "/v1/..", "/./v1", "/..?x", "https://h/", "/a?b c" };

	peer_start(peer_answers);
	for (size_t i = 0; i < COUNT(bad); i++) {
		ask(&a, "GET", bad[i]);
		CHECK(ask_says(&a, HTTP_CALL_REQUEST, "cannot stand in a request"));
	}
	CHECK(seen->connections == 0);
	ask(&a, "GET", "/v1/sandboxes/%2E%2E%2Fsnapshots/...?a=/../");
	CHECK(ask_ok(&a, 200, "hi"));
}
APART(targets)

/* --- replies --- */

/* The replies that the peer sends in turn, each on a connection of its own that it then closes. */
static const char *const *scripts;
static size_t piece;

static void peer_scripts(void)
{
	for (;; scripts += scripts[1] != NULL) {
		int fd = peer_accept();
		struct slice s = slice_of(*scripts);

		if (peer_request(fd))
			for (; s.n; s = slice_from(s, s.n < piece ? s.n : piece)) {
				peer_write(fd, slice_head(s, piece));
				usleep(piece < 100 ? 50 : 0);
			}
		close(fd);
	}
}

#define OK "HTTP/1.1 200 OK\r\n"

static const char *const framings[] = {
	OK "content-length: 5\r\n\r\nhello",
	OK "TRANSFER-ENCODING: chunked\r\n\r\n1\r\nh\r\n4;x=y\r\nello\r\n0\r\nTrailer: x\r\n\r\n",
	OK "\r\nhello",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" OK
	"Content-Length: 5\r\n\r\nhello",
	"HTTP/1.0 200 OK\r\n\r\nhello",
	NULL,
};

/* H5, L14 */
static void every_framing(void)
{
	scripts = framings;
	plain_orderly = true;
	peer_start(peer_scripts);
	for (int i = 0; framings[i]; i++) {
		ask(&a, "GET", "/x");
		CHECK(ask_ok(&a, 200, "hello"));
		CHECK(a.c.got == 5 && a.c.expected == (strstr(framings[i], "ength:") ? 5 : -1));
	}
}

static void framings_whole(void)
{
	piece = 100000;
	every_framing();
}
APART(framings_whole)

static void framings_byte_by_byte(void)
{
	piece = 1;
	every_framing();
}
APART(framings_byte_by_byte)

/* H5: no content. */
static void no_content(void)
{
	static const char *const replies[] = { "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL };

	scripts = replies;
	piece = 100000;
	peer_start(peer_scripts);
	ask(&a, "DELETE", "/x");
	CHECK(ask_ok(&a, 204, "") && a.c.got == 0);
	ask(&a, "DELETE", "/x");
	CHECK(ask_ok(&a, 200, "") && a.c.got == 0);
}
APART(no_content)

static unsigned other_port;

static void peer_redirects(void)
{
	char reply[200];
	int fd = peer_accept();

	snprintf(reply, sizeof(reply),
		"HTTP/1.1 307 Elsewhere\r\nLocation: https://127.0.0.1:%u/x\r\n"
		"Retry-After: 5\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
		other_port);
	while (peer_request(fd))
		peer_say(fd, reply);
}

/* H6: the target is told, and nobody goes there. */
static void a_redirect(void)
{
	int other = listen_on(&other_port);
	char target[100];

	peer_start(peer_redirects);
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 307, ""));
	snprintf(target, sizeof(target), "https://127.0.0.1:%u/x", other_port);
	CHECK(strcmp(a.c.location, target) == 0);
	CHECK(strcmp(a.c.retry_after, "5") == 0 && strcmp(a.c.type, "text/html") == 0);
	run_ms(50);
	CHECK(!connection_waits(other));
}
APART(a_redirect)

static const char *const refused[] = {
	OK "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
	OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	OK "Content-Length: -1\r\n\r\n",
	OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
	OK "Content-Length: 99999999999999999999\r\n\r\n",
	OK "Content-Length: 67108865\r\n\r\n",
	"<html>\n",
	OK "a\x01: b\r\n\r\n",
	NULL,
};

/* H7, H11: an error, the connection is closed and the next call works on a new one. */
static void invalid_replies(void)
{
	scripts = refused;
	piece = 100000;
	peer_start(peer_scripts);
	for (int i = 0; refused[i]; i++) {
		ask(&a, "GET", "/x");
		CHECK(ask_says(&a, HTTP_CALL_INVALID, "invalid reply from the master: "));
		CHECK(http_client_connections() == 0);
		CHECK(seen->connections == i + 1 && seen->requests == i + 1);
	}
	CHECK(strstr(
		a.c.text, "a malformed field; it begins \"HTTP/1.1 200 OK\\x0d\\x0aa\\x01: b"));
}
APART(invalid_replies)

/* What is quoted of a reply holds no secret that it echoes. */
static void an_echo(void)
{
	static const char *const echo[] = { "Bearer api-token, sandbox box-token\r\n\r\n", NULL };

	scripts = echo;
	piece = 100000;
	peer_start(peer_scripts);
	a.c.fields = LIT("Authorization: Bearer api-token\r\n"
			 "x-sandstorm-sandbox-token: box-token\r\n");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_INVALID, "it begins \"Bearer ***, sandbox ***\\x0d"));
	CHECK(!strstr(a.c.text, "-token"));
}
APART(an_echo)

/* Nor do the fields that are kept, which are cut: not inside of a secret. */
static void an_echo_in_fields(void)
{
	static const char *const echo[] = {
		"HTTP/1.1 503 Bearer 0123456789abcdef0123456789abcdef\r\n"
		"Retry-After: Bearer 0123456789abcdef0123456789abcdef\r\n"
		"Location: https://h/0123456789abcdef0123456789abcdef/x\r\n"
		"Content-Type: box-token/0123456789abcdef0123456789abcdef\r\n"
		"Content-Length: 0\r\n\r\n",
		NULL
	};

	scripts = echo;
	piece = 100000;
	peer_start(peer_scripts);
	a.c.fields = LIT("Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n"
			 "x-sandstorm-sandbox-token: box-token\r\n");
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 503, ""));
	CHECK(strcmp(a.c.reason, "Bearer ***") == 0 && strcmp(a.c.retry_after, "Bearer ***") == 0);
	CHECK(strcmp(a.c.location, "https://h/***/x") == 0 && strcmp(a.c.type, "***/***") == 0);
}
APART(an_echo_in_fields)

/* --- failures --- */

static const char *const cut[] = { "", "HTTP/1.1 2", OK "Content-Length: 100\r\n\r\n0123456789",
	OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", OK "\r\nhello", NULL };

/* Closed before or inside of the reply; L14: also where nobody said that it ends there. */
static void cut_replies(void)
{
	static const char *const got[] = { "(got 0 bytes)", "(got 0 bytes)",
		"(got 10 of 100 bytes)", "(got 5 bytes)", "(got 5 bytes)" };

	scripts = cut;
	piece = 100000;
	peer_start(peer_scripts);
	for (int i = 0; cut[i]; i++) {
		ask(&a, "GET", "/x");
		CHECK(ask_says(&a, HTTP_CALL_CLOSED,
			"the master closed the connection before the reply was complete"));
		CHECK(strstr(a.c.text, got[i]));
		CHECK(a.c.sent && http_client_connections() == 0);
	}
	CHECK(seen->requests == 5);
}
APART(cut_replies)

/* A reset is no close_notify either, and what came before it is not taken for the whole. */
static void peer_resets(void)
{
	struct linger now = { 1, 0 };
	int fd = peer_accept();

	peer_request(fd);
	peer_say(fd, OK "Content-Length: 100\r\n\r\n0123456789");
	usleep(50000);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void a_reset(void)
{
	plain_orderly = true;
	peer_start(peer_resets);
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "(got 10 of 100 bytes)"));
}
APART(a_reset)

static void nobody_listens(void)
{
	char text[100];

	peer_start(peer_answers);
	close(listen_on(&peer_port));
	peer_url("127.0.0.1", "");
	ask(&a, "GET", "/x");
	snprintf(text, sizeof(text), "connection refused by 127.0.0.1:%u; is the master running?",
		peer_port);
	CHECK(ask_says(&a, HTTP_CALL_REFUSED, text));
	CHECK(!a.c.sent && http_client_connections() == 0);
	peer_url("localhost", ""); /* both addresses */
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_REFUSED, "connection refused by localhost:"));
}
APART(nobody_listens)

/* ::1 is tried first; the master listens on 127.0.0.1 alone. */
static void the_second_address(void)
{
	peer_start(peer_answers);
	peer_url("localhost", "");
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(strstr(seen->text[0], "\r\nHost: localhost:"));
}
APART(the_second_address)

static void an_address_nobody_can_reach(void)
{
	peer_start(peer_answers);
	peer_url("255.255.255.255", "");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CONNECT, "cannot connect to 255.255.255.255:"));
}
APART(an_address_nobody_can_reach)

static void no_tls(void)
{
	peer_start(peer_answers);
	plain_error = 62;
	a.c.fields = LIT("Authorization: Bearer t\r\n");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_TLS, "TLS error 62"));
	CHECK(!a.c.sent && http_client_connections() == 0);
	plain_error = -ECONNRESET;
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "during the TLS handshake"));
	plain_error = 0;
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi") && seen->requests == 1);
}
APART(no_tls)

/* Section 1: no connection is opened. */
static void no_roots(void)
{
	peer_start(peer_answers);
	http_client_setup(&peer_origin, NULL);
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_TLS, "CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set"));
	CHECK(seen->connections == 0 && http_client_connections() == 0);
}
APART(no_roots)

/* The sentence is the caller's to put where it wants. */
static void the_sentence(void)
{
	char mem[200];
	struct buf b;

	peer_start(peer_answers);
	http_client_setup(&peer_origin, NULL);
	ask(&a, "GET", "/x");
	buf_over(&b, mem, sizeof(mem));
	http_call_put_failure(&a.c, &b);
	CHECK(slice_is(buf_all(&b), a.c.text) && b.len > 20);
	http_client_setup(&peer_origin, &peer_roots);
	ask(&a, "GET", "/x");
	buf_cut(&b, 0);
	http_call_put_failure(&a.c, &b);
	CHECK(b.len == 0);
}
APART(the_sentence)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_get),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_a_prefix),
		cmocka_unit_test(test_a_large_body),
		cmocka_unit_test(test_a_body_over_the_limit),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_framings_whole),
		cmocka_unit_test(test_framings_byte_by_byte),
		cmocka_unit_test(test_no_content),
		cmocka_unit_test(test_a_redirect),
		cmocka_unit_test(test_invalid_replies),
		cmocka_unit_test(test_an_echo),
		cmocka_unit_test(test_an_echo_in_fields),
		cmocka_unit_test(test_cut_replies),
		cmocka_unit_test(test_a_reset),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_the_second_address),
		cmocka_unit_test(test_an_address_nobody_can_reach),
		cmocka_unit_test(test_no_tls),
		cmocka_unit_test(test_no_roots),
		cmocka_unit_test(test_the_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
