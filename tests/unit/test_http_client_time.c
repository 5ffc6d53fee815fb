/*
 * The HTTPS client and time: deadlines of each phase, giving up, long replies in constant memory
 * (sandbox-tools.md H10, H11, P3, P10).
 */
#include "client_peer.h"

#include "base/address.h"
#include "loop/lookup.h"

static struct ask a;

/* In the place of loop/lookup: names that take their time. */
int lookup_name(const char *name, struct dns_found *f)
{
	f->count = 0;
	if (strcmp(name, "slow.test") == 0)
		sleep(20);
	if (strcmp(name, "two.test") != 0)
		return strcmp(name, "down.test") == 0 ? -EAGAIN : -ENOENT;
	CHECK(address_parse(LIT("127.0.0.2"), f->address[0]));
	CHECK(address_parse(LIT("127.0.0.1"), f->address[1]));
	f->count = 2;
	return 0;
}

/* Of what was waited for while time flew. */
static bool in_time(int64_t want)
{
	if (a.took == want)
		return true;
	fprintf(stderr, "took %lld ms, not %lld\n", (long long)a.took, (long long)want);
	return false;
}

static bool timed_out(const char *phase, const char *text)
{
	return ask_says(&a, HTTP_CALL_TIMEOUT, text) && strcmp(a.c.phase, phase) == 0 &&
	       http_client_connections() == 0;
}

/* A listener whose queue is full: a connection to it is neither taken nor refused. */
static void full_listener(const char *number, unsigned port)
{
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .events = POLLOUT };
	union socket_address to;
	unsigned char address[16];
	socklen_t n;

	CHECK(address_parse(slice_of(number), address));
	n = address_to_socket(address, port, &to);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK(bind(fd, &to.any, n) == 0 && listen(fd, 0) == 0);
	do {
		p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(p.fd, &to.any, n);
	} while (poll(&p, 1, 100) == 1);
}

/* A call that nobody will answer: time flies until its end. */
static void ask_in_vain(const char *method)
{
	time_fly();
	ask(&a, method, "/x");
}

/* --- phases --- */

static void names(void)
{
	peer_start(peer_answers);
	peer_url("none.test", "");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_RESOLVE, "cannot resolve none.test: there is no such name"));
	peer_url("down.test", "");
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_RESOLVE, "cannot resolve down.test: no name server answers"));
	a.c.limit_ms = 200;
	peer_url("slow.test", "");
	ask_in_vain("GET");
	CHECK(ask_says(&a, HTTP_CALL_RESOLVE, "cannot resolve slow.test: no answer in time"));
	CHECK(in_time(200) && http_client_connections() == 0);
}
APART(names)

static void connecting(void)
{
	peer_start(peer_answers);
	full_listener("127.0.0.2", peer_port);
	peer_url("127.0.0.2", "");
	a.c.limit_ms = 300;
	ask_in_vain("GET");
	CHECK(timed_out("connect", "timed out after 0.3 s (connect)") && in_time(300));
	CHECK(!a.c.sent);
}
APART(connecting)

static void the_handshake(void)
{
	peer_start(peer_answers);
	plain_stall = true;
	a.c.limit_ms = 300;
	ask_in_vain("GET");
	CHECK(timed_out("TLS", "timed out after 0.3 s (TLS)") && in_time(300));
	CHECK(!a.c.sent);
}
APART(the_handshake)

static const char *begun = "";

/* Says how a reply begins, then a byte of it each 20 ms. */
static void peer_dribbles(void)
{
	for (;;) {
		int fd = peer_accept();

		peer_request(fd);
		peer_say(fd, begun);
		while (send(fd, "x", *begun ? 1 : 0, MSG_NOSIGNAL) >= 0)
			usleep(20000);
		close(fd);
	}
}

static void the_reply(void)
{
	peer_start(peer_dribbles);
	a.c.limit_ms = 300;
	ask_in_vain("POST");
	CHECK(timed_out("reply", "timed out after 0.3 s (reply)") && in_time(300));
	CHECK(a.c.sent && a.c.status == 0);
}
APART(the_reply)

/* A byte now and then moves no deadline. */
static void a_reply_that_dribbles(void)
{
	begun = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
	peer_start(peer_dribbles);
	a.c.limit_ms = 30000;
	ask_start(&a, "GET", "/x");
	AWAIT(a.c.got > 3);
	time_fly();
	asks_run();
	CHECK(timed_out("reply", "timed out after 30 s (reply)") && in_time(30000));
	CHECK(a.c.status == 200 && a.c.got > 3);
}
APART(a_reply_that_dribbles)

static void chain_too_late(void)
{
	peer_start(peer_answers);
	a.c.limit_ms = 5000;
	for (int i = 0; i < 3; i++)
		ask(&a, "GET", "/x");
	time_fly();
	run_ms(6000);
	CHECK(a.done == 1 && a.c.failure == HTTP_CALL_OK);
}
APART(chain_too_late)

/*
 * H8, H10: the ten seconds of opening a connection, however long the call may take, and of a kept
 * one.
 */
static void ten_seconds(void)
{
	static struct ask kept;

	peer_start(peer_answers);
	ask(&kept, "GET", "/x");
	CHECK(http_client_connections() == 1);
	plain_stall = true;
	http_call_abort(&kept.c); /* nothing to give up any more */
	CHECK(http_client_connections() == 1);
	kept.c.limit_ms = a.c.limit_ms = 60000;
	/* both want a connection, one of them gets the kept one */
	ask_start(&kept, "GET", "/x");
	ask_start(&a, "POST", "/y");
	AWAIT(kept.done == 1);
	time_fly();
	run_ms(8000);
	CHECK(!a.done);
	CHECK(http_client_connections() == 2);
	asks_run();
	CHECK(ask_says(&a, HTTP_CALL_TIMEOUT, "timed out after 10 s (TLS)") && in_time(10000));
	time_walk();
	run_ms(300);
	CHECK(http_client_connections() == 0 && mem_opened() == 0);
	CHECK(seen->requests == 2);
}
APART(ten_seconds)

/* An address that never answers leaves time for the next one. */
static void half_of_the_time(void)
{
	peer_start(peer_answers);
	full_listener("127.0.0.2", peer_port);
	peer_url("two.test", "");
	a.c.limit_ms = 4000;
	ask(&a, "GET", "/x");
	CHECK(ask_ok(&a, 200, "hi"));
	CHECK(a.took > 1500 && a.took < 4000);
}
APART(half_of_the_time)

/* --- giving up --- */

static void nothing_comes(void)
{
	run_ms(150);
	CHECK(a.done == 0);
	CHECK(http_client_connections() == 0);
	asks_open = 0;
}

static void give_up(int64_t after_ms)
{
	int before = open_descriptors();

	ask_start(&a, "GET", "/x");
	if (after_ms)
		run_ms(after_ms);
	CHECK(a.done == 0);
	http_call_abort(&a.c);
	CHECK(http_client_connections() == 0 && open_descriptors() == before);
	http_call_abort(&a.c);
	nothing_comes();
}

static void never_started(void)
{
	http_call_abort(&a.c);
	CHECK(a.done == 0);
}
APART(never_started)

static void before_the_loop_turned(void)
{
	peer_start(peer_answers);
	give_up(0);
	CHECK(seen->connections == 0);
}
APART(before_the_loop_turned)

static void while_resolving(void)
{
	peer_start(peer_answers);
	peer_url("slow.test", "");
	give_up(50);
}
APART(while_resolving)

static void while_connecting(void)
{
	peer_start(peer_answers);
	full_listener("127.0.0.2", peer_port);
	peer_url("127.0.0.2", "");
	give_up(50);
}
APART(while_connecting)

static void in_the_handshake(void)
{
	peer_start(peer_answers);
	plain_stall = true;
	give_up(50);
}
APART(in_the_handshake)

static void peer_is_silent(void)
{
	for (;;) {
		int fd = peer_accept();

		while (peer_request(fd))
			;
		close(fd);
	}
}

/* P3: the connection is closed before anything else happens. */
static void while_waiting_for_the_reply(void)
{
	int open;

	peer_start(peer_is_silent);
	ask_start(&a, "POST", "/x");
	AWAIT(seen->requests == 1);
	CHECK(seen->closed == 0);
	open = open_descriptors();
	http_call_abort(&a.c);
	CHECK(open_descriptors() < open);
	nothing_comes();
	AWAIT(seen->closed == 1);
}
APART(while_waiting_for_the_reply)

static void in_the_queue(void)
{
	static struct ask busy[MASTER_CONNS];

	peer_start(peer_is_silent);
	for (int i = 0; i < MASTER_CONNS; i++) {
		busy[i].c.brief = true;
		ask_start(&busy[i], "GET", "/x");
	}
	a.c.brief = true;
	ask_start(&a, "GET", "/x");
	run_ms(50);
	http_call_abort(&a.c);
	for (int i = 0; i < MASTER_CONNS; i++)
		http_call_abort(&busy[i].c);
	nothing_comes();
}
APART(in_the_queue)

/* What another call does in its done() may end this one. */
static void end_the_other(struct http_call *c)
{
	(void)c;
	http_call_abort(&a.c);
	asks_open = 0;
	loop_stop(0);
}

static void from_another_call(void)
{
	struct http_call c = {
		.method = "GET", .target = LIT("/y"), .limit_ms = 100, .done = end_the_other
	};

	peer_start(peer_is_silent);
	ask_start(&a, "GET", "/x");
	http_call_start(&c);
	loop_run();
	nothing_comes();
}
APART(from_another_call)

/* --- long replies --- */

static uint64_t long_bytes;
static const char *long_head;

static void peer_says_much(void)
{
	static char block[64 * KIB];

	memset(block, 'm', sizeof(block));
	for (;;) {
		int fd = peer_accept();

		while (peer_request(fd)) {
			peer_say(fd, long_head);
			for (uint64_t left = long_bytes; left;) {
				struct slice s = { block, sizeof(block) };

				s = slice_head(s, left < s.n ? (size_t)left : s.n);
				peer_write(fd, s);
				left -= s.n;
			}
		}
		close(fd);
	}
}

static size_t most_opened, most_part;
static uint64_t stop_at;

static bool count_part(struct http_call *c, struct slice bytes)
{
	CHECK(bytes.p[0] == 'm' && bytes.p[bytes.n - 1] == 'm');
	if (mem_opened() > most_opened)
		most_opened = mem_opened();
	if (bytes.n > most_part)
		most_part = bytes.n;
	return !stop_at || c->got < stop_at;
}

static void read_much(void)
{
	a.c.limit_ms = 20000;
	a.c.method = "GET";
	a.c.target = LIT("/x");
	a.c.part = count_part;
	a.c.done = ask_done;
	asks_open++;
	http_call_start(&a.c);
	asks_run();
}

/* P10: in parts, in the memory of one record. */
static void sixty_megabytes(void)
{
	long_bytes = 60000000;
	long_head = "HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\n";
	peer_start(peer_says_much);
	read_much();
	CHECK(a.c.failure == HTTP_CALL_OK && a.c.got == 60000000);
	CHECK(most_opened == 0 && most_part <= 16 * KIB); /* beyond what is kept open */
	ask(&a, "GET", "/x");
	CHECK(a.c.got == 60000000 && seen->connections == 1);
}
APART(sixty_megabytes)

/* H11: 64 MiB and one byte, when its length is not told. */
static void over_64_mib(void)
{
	long_bytes = REPLY_BODY_MAX + UINT64_C(1);
	long_head = "HTTP/1.1 200 OK\r\n\r\n";
	plain_orderly = true;
	peer_start(peer_says_much);
	read_much();
	CHECK(ask_says(&a, HTTP_CALL_INVALID, "its body is over 64 MiB"));
	CHECK(http_client_connections() == 0);
}
APART(over_64_mib)

static void the_rest_is_not_wanted(void)
{
	long_bytes = 60000000;
	long_head = "HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\n";
	stop_at = 100000;
	peer_start(peer_says_much);
	read_much();
	CHECK(a.c.failure == HTTP_CALL_STOPPED && a.c.got >= stop_at && a.c.got < 200000);
	CHECK(a.c.text[0] == '\0' && http_client_connections() == 0);
}
APART(the_rest_is_not_wanted)

static void nobody_wants_the_body(void)
{
	struct http_call c = {
		.method = "GET", .target = LIT("/x"), .limit_ms = 5000, .done = end_the_other
	};

	long_bytes = 1000000;
	long_head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
	peer_start(peer_says_much);
	http_call_start(&c);
	loop_run();
	CHECK(c.failure == HTTP_CALL_OK && c.got == 1000000);
	CHECK(http_client_connections() == 1);
}
APART(nobody_wants_the_body)

/* The memory of a connection is bounded by the budget, and the call is told. */
static void without_memory(void)
{
	peer_start(peer_answers);
	apart_without(SYS_mmap, ENOMEM);
	ask(&a, "GET", "/x");
	CHECK(ask_says(&a, HTTP_CALL_MEMORY, "memory"));
	CHECK(http_client_connections() == 0);
}
APART(without_memory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_connecting),
		cmocka_unit_test(test_the_handshake),
		cmocka_unit_test(test_the_reply),
		cmocka_unit_test(test_a_reply_that_dribbles),
		cmocka_unit_test(test_chain_too_late),
		cmocka_unit_test(test_ten_seconds),
		cmocka_unit_test(test_half_of_the_time),
		cmocka_unit_test(test_never_started),
		cmocka_unit_test(test_before_the_loop_turned),
		cmocka_unit_test(test_while_resolving),
		cmocka_unit_test(test_while_connecting),
		cmocka_unit_test(test_in_the_handshake),
		cmocka_unit_test(test_while_waiting_for_the_reply),
		cmocka_unit_test(test_in_the_queue),
		cmocka_unit_test(test_from_another_call),
		cmocka_unit_test(test_sixty_megabytes),
		cmocka_unit_test(test_over_64_mib),
		cmocka_unit_test(test_the_rest_is_not_wanted),
		cmocka_unit_test(test_nobody_wants_the_body),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
