/*
 * Connections of the HTTPS client: kept, shared, queued for, never used for a second sending of
 * what may act twice (sandbox-tools.md H8, P16; decision 51).
 */
#include "client_peer.h"

static struct ask a, b;

static void many_calls_on_one_connection(void)
{
	int before;

	peer_start(peer_answers);
	ask(&a, "GET", "/x");
	before = open_descriptors();
	for (int i = 0; i < 200; i++) {
		ask(&a, i % 2 ? "GET" : "POST", "/x");
		CHECK(ask_ok(&a, 200, "hi"));
	}
	CHECK(seen->connections == 1 && seen->requests == 201);
	CHECK(http_client_connections() == 1 && open_descriptors() == before);
}
APART(many_calls_on_one_connection)

/* --- connections that close while they are kept --- */

/* Answers one request on each connection, then closes it. after: the reply says so, or not. */
static bool says_close;

static void peer_closes(void)
{
	for (;;) {
		int fd = peer_accept();

		if (peer_request(fd))
			peer_say(fd, says_close ? "HTTP/1.1 200 OK\r\nConnection: close\r\n"
						  "Content-Length: 2\r\n\r\nhi"
						: PEER_OK);
		close(fd);
		seen->left++;
	}
}

static void the_reply_says_close(void)
{
	says_close = true;
	peer_start(peer_closes);
	for (int i = 0; i < 3; i++) {
		ask(&a, "POST", "/x");
		CHECK(ask_ok(&a, 200, "hi"));
		CHECK(http_client_connections() == 0);
	}
	CHECK(seen->connections == 3);
}
APART(the_reply_says_close)

/* The end of a kept connection is seen at once, not by the next call. */
static void closed_while_kept(void)
{
	peer_start(peer_closes);
	for (int i = 0; i < 3; i++) {
		ask(&a, "POST", "/x");
		CHECK(ask_ok(&a, 200, "hi"));
		AWAIT(http_client_connections() == 0);
	}
	CHECK(seen->connections == 3 && seen->requests == 3);
}
APART(closed_while_kept)

/* Without a turn of the loop. */
static void wait_left(int count)
{
	for (int i = 0; i < 2000 && seen->left < count; i++)
		usleep(10000);
	CHECK(seen->left == count);
}

/* Nor is it used when its end waits in the kernel and the loop has not turned yet. */
static void closed_and_not_seen_yet(void)
{
	peer_start(peer_closes);
	ask(&a, "POST", "/x");
	wait_left(1);
	ask(&a, "POST", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(seen->connections == 2 && seen->requests == 2);
}
APART(closed_and_not_seen_yet)

static void peer_talks_on(void)
{
	for (;;) {
		int fd = peer_accept();

		peer_request(fd);
		peer_say(fd, PEER_OK);
		usleep(20000);
		peer_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
		seen->left++;
		peer_request(fd);
		close(fd);
	}
}

/* What a master says unasked is no answer to the next call. */
static void bytes_nobody_asked_for(void)
{
	peer_start(peer_talks_on);
	ask(&a, "GET", "/x");
	wait_left(1);
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(seen->connections == 2);
}
APART(bytes_nobody_asked_for)

static void peer_says_too_much(void)
{
	for (;;) {
		int fd = peer_accept();

		while (peer_request(fd))
			peer_say(fd, PEER_OK "more");
		close(fd);
	}
}

static void bytes_behind_the_reply(void)
{
	peer_start(peer_says_too_much);
	for (int i = 0; i < 2; i++) {
		ask(&a, "GET", "/x");
		CHECK(ask_ok(&a, 200, "hi"));
		CHECK(http_client_connections() == 0);
	}
}
APART(bytes_behind_the_reply)

/* --- once more --- */

static const char *half_reply = "";

/* Answers the first request of all, reads the next on the same connection and closes. Then answers.
 */
static void peer_drops_the_second(void)
{
	int fd = peer_accept();

	peer_request(fd);
	peer_say(fd, PEER_OK);
	peer_request(fd);
	peer_say(fd, half_reply);
	close(fd);
	peer_answers();
}

/* P16: a POST is seen once, the call is an error. */
static void a_post_is_never_sent_twice(void)
{
	peer_start(peer_drops_the_second);
	ask(&a, "GET", "/x");
	ask(&a, "POST", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "(got 0 bytes)"));
	CHECK(a.c.sent);
	run_ms(50);
	CHECK(seen->requests == 2 && seen->connections == 1);
	ask(&a, "POST", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
}
APART(a_post_is_never_sent_twice)

static void goes_again(const char *method)
{
	peer_start(peer_drops_the_second);
	ask(&a, "POST", "/first");
	ask(&a, method, "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(seen->requests == 3 && seen->connections == 2);
	CHECK(strcmp(seen->text[1], seen->text[2]) == 0);
}

static void a_get_goes_once_more(void)
{
	goes_again("GET");
}
APART(a_get_goes_once_more)

static void a_delete_goes_once_more(void)
{
	goes_again("DELETE");
}
APART(a_delete_goes_once_more)

/* A byte of the reply has come: the master has seen it. */
static void not_after_the_first_byte(void)
{
	half_reply = "H";
	peer_start(peer_drops_the_second);
	ask(&a, "GET", "/x");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "(got 0 bytes)"));
	CHECK(seen->requests == 2);
}
APART(not_after_the_first_byte)

static void peer_drops_all(void)
{
	int fd = peer_accept();

	peer_request(fd);
	peer_say(fd, PEER_OK);
	for (;; fd = peer_accept()) {
		peer_request(fd);
		close(fd);
	}
}

/* Twice in all, and a new connection that closes is no reason. */
static void at_most_twice(void)
{
	peer_start(peer_drops_all);
	ask(&a, "GET", "/x");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "closed"));
	CHECK(seen->requests == 3 && seen->connections == 2);
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_CLOSED, "closed"));
	CHECK(seen->requests == 4 && seen->connections == 3);
}
APART(at_most_twice)

/* Two connections at a time: answers the first request on each, drops the second. Then answers. */
static void peer_drops_both(void)
{
	int fds[2] = { peer_accept(), peer_accept() };

	for (int i = 0; i < 2; i++) {
		peer_request(fds[i]);
		peer_say(fds[i], PEER_OK);
	}
	for (int dropped = 0; dropped < 2 && !connection_waits(peer_listener);) {
		struct pollfd p[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };

		poll(p, 2, 50);
		for (int i = 0; i < 2; i++)
			if (p[i].revents) {
				peer_request(fds[i]);
				close(fds[i]);
				fds[i] = -1;
				dropped++;
			}
	}
	peer_answers();
}

/* Not on another kept connection, which is as old. */
static void once_more_means_a_new_connection(void)
{
	peer_start(peer_drops_both);
	ask_start(&a, "GET", "/1");
	ask_start(&b, "GET", "/2");
	asks_run();
	CHECK(http_client_connections() == 2);
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(seen->connections == 3 && seen->requests == 4);
}
APART(once_more_means_a_new_connection)

/* --- what else makes a connection unfit --- */

static void peer_reads_no_body(void)
{
	for (;;) {
		char head[4 * KIB];
		int fd = peer_accept();
		struct pollfd left = { .fd = fd, .events = POLLRDHUP };

		if (recv(fd, head, sizeof(head), 0) > 0)
			peer_say(fd, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
		poll(&left, 1, TURN_PATIENCE_MS);
		close(fd);
	}
}

/* The reply came before the request was sent: what the master still expects nobody knows. */
static void a_reply_before_the_end_of_the_request(void)
{
	static char big[REQUEST_BODY_MAX];

	peer_start(peer_reads_no_body);
	plain_takes = 1000;
	a.c.body = (struct slice){ big, sizeof(big) };
	ask(&a, "POST", "/x");
	CHECK(ask_ok(&a, 413, "no") && a.c.sent);
	CHECK(http_client_connections() == 0);
}
APART(a_reply_before_the_end_of_the_request)

/* The stream may call once too often. */
static void a_needless_word(void)
{
	peer_start(peer_answers);
	ask(&a, "GET", "/x");
	plains[0].c->stream.changed(&plains[0].c->stream);
	CHECK(http_client_connections() == 1);
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi") && seen->connections == 1);
}
APART(a_needless_word)

/* --- many at once --- */

static struct ask asks[MASTER_CONNS + 8];

/* Takes connections without a word until told; then answers all that came. */
static void peer_waits(void)
{
	int fds[MASTER_CONNS + 8], n = 0;

	for (;;) {
		struct pollfd p = { peer_listener, POLLIN, 0 };

		if (poll(&p, 1, 10) == 1)
			fds[n++] = peer_accept();
		while (n && seen->go)
			if (peer_request(fds[--n])) {
				peer_say(fds[n], "HTTP/1.1 200 OK\r\nConnection: close\r\n"
						 "Content-Length: 2\r\n\r\nhi");
				close(fds[n]);
			}
	}
}

/* They lead to that many connections in all. */
static void start_many(int from, int to, bool brief, int connections)
{
	for (int i = from; i < to; i++) {
		asks[i].c.brief = brief;
		ask_start(&asks[i], "POST", "/x");
	}
	AWAIT(seen->connections == connections);
	run_ms(50); /* for those that should not come */
	CHECK(seen->connections == connections);
	CHECK((int)http_client_connections() == connections);
}

/* Decision 51: what may be long leaves two connections to what is not. */
static void two_are_kept_for_brief_calls(void)
{
	peer_start(peer_waits);
	start_many(0, MASTER_CONNS, false, MASTER_CONNS - MASTER_CONNS_KEPT);
	start_many(MASTER_CONNS, MASTER_CONNS + 4, true, MASTER_CONNS);
	seen->go = true;
	asks_run();
	for (int i = 0; i < MASTER_CONNS + 4; i++)
		CHECK(ask_ok(&asks[i], 200, "hi") && asks[i].done == 1);
	CHECK(seen->requests == MASTER_CONNS + 4);
}
APART(two_are_kept_for_brief_calls)

static void brief_calls_may_have_all(void)
{
	peer_start(peer_waits);
	start_many(0, MASTER_CONNS + 4, true, MASTER_CONNS);
	seen->go = true;
	asks_run();
	CHECK(seen->requests == MASTER_CONNS + 4);
}
APART(brief_calls_may_have_all)

/* Waiting for a connection counts. */
static void the_deadline_in_the_queue(void)
{
	peer_start(peer_waits);
	start_many(0, MASTER_CONNS - MASTER_CONNS_KEPT, false, MASTER_CONNS - MASTER_CONNS_KEPT);
	a.c.limit_ms = 120;
	ask_start(&a, "POST", "/late");
	time_fly();
	run_ms(120);
	CHECK(a.done == 1 && a.took == 120);
	time_walk();
	CHECK(ask_says(&a, HTTP_CALL_TIMEOUT, "timed out after 0.1 s (queue)"));
	CHECK(!a.c.sent && strcmp(a.c.phase, "queue") == 0);
	seen->go = true;
	asks_run();
	for (int i = 0; i < seen->requests; i++)
		CHECK(!strstr(seen->text[i], "/late"));
}
APART(the_deadline_in_the_queue)

static int chained;

static void chain_done(struct http_call *c)
{
	CHECK(c->failure == HTTP_CALL_OK && c->status == 200 && c->got == 2);
	if (++chained < 5) {
		http_call_start(c);
		CHECK(c->status == 0 && c->got == 0);
	} else {
		loop_stop(0);
	}
}

/* The same call anew, from its own done(). */
static void a_chain_of_calls(void)
{
	struct http_call c = {
		.method = "GET", .target = LIT("/x"), .limit_ms = 5000, .done = chain_done
	};

	peer_start(peer_answers);
	http_call_start(&c);
	loop_run();
	CHECK(chained == 5 && seen->requests == 5 && seen->connections == 1);
}
APART(a_chain_of_calls)

static void many_calls_leave_nothing(void)
{
	int before;

	peer_start(peer_closes);
	ask(&b, "GET", "/x");
	AWAIT(http_client_connections() == 0);
	before = open_descriptors();
	for (int i = 0; i < 1000; i++)
		ask(&a, "POST", "/x");
	AWAIT(http_client_connections() == 0);
	CHECK(open_descriptors() == before);
	CHECK(mem_opened() == 0);
}
APART(many_calls_leave_nothing)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_calls_on_one_connection),
		cmocka_unit_test(test_the_reply_says_close),
		cmocka_unit_test(test_closed_while_kept),
		cmocka_unit_test(test_closed_and_not_seen_yet),
		cmocka_unit_test(test_bytes_nobody_asked_for),
		cmocka_unit_test(test_bytes_behind_the_reply),
		cmocka_unit_test(test_a_post_is_never_sent_twice),
		cmocka_unit_test(test_a_get_goes_once_more),
		cmocka_unit_test(test_a_delete_goes_once_more),
		cmocka_unit_test(test_not_after_the_first_byte),
		cmocka_unit_test(test_at_most_twice),
		cmocka_unit_test(test_once_more_means_a_new_connection),
		cmocka_unit_test(test_a_reply_before_the_end_of_the_request),
		cmocka_unit_test(test_a_needless_word),
		cmocka_unit_test(test_two_are_kept_for_brief_calls),
		cmocka_unit_test(test_brief_calls_may_have_all),
		cmocka_unit_test(test_the_deadline_in_the_queue),
		cmocka_unit_test(test_a_chain_of_calls),
		cmocka_unit_test(test_many_calls_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
