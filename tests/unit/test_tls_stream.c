/*
 * The pump: bytes both ways however slowly, ends of all kinds, peers that are no TLS servers.
 */
#include "tls_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

/* --- the kernel's random numbers, which may not be there yet --- */

static int randoms_missing; /* so many calls more */

ssize_t getrandom(void *p, size_t n, unsigned flags)
{
	assert_int_equal(flags, GRND_NONBLOCK);
	if (randoms_missing > 0) {
		randoms_missing--;
		errno = EAGAIN;
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = (unsigned char)rand();
	return (ssize_t)n;
}

static void opened(void)
{
	assert_int_equal(meet("127.0.0.1", "ca.pem", "full.pem"), TLS_OPEN);
	run_until(server.stream.state == TLS_OPEN);
}

static void say(struct tls_stream *t, struct slice s)
{
	assert_int_equal(tls_write(t, s), s.n);
	tls_flush(t);
}

#define heard(text) assert_slice(((struct slice){ got, got_n }), text)
#define server_heard(text) assert_slice(((struct slice){ server.got, server.got_n }), text)

/* --- bytes --- */

static void test_bytes_go_both_ways(void **state)
{
	(void)state;
	opened();
	say(&client.stream, LIT("ping"));
	run_until(server.got_n == 4);
	server_heard("ping");
	say(&server.stream, LIT("pong"));
	run_until(got_n == 4);
	heard("pong");
	say(&client.stream, LIT("!"));
	run_until(server.got_n == 5);
}

static void test_nothing_leaves_before_it_is_flushed(void **state)
{
	(void)state;
	opened();
	assert_int_equal(tls_write(&client.stream, LIT("ping")), 4);
	run_ms(20);
	assert_int_equal(server.got_n, 0);
	tls_flush(&client.stream);
	assert_true(tls_sent(&client.stream));
	run_until(server.got_n == 4);
}

static char much[MIB];

static void much_fill(void)
{
	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = (char)(i * 7 + i / 1000);
}

static void test_a_megabyte_is_read_in_its_order(void **state)
{
	size_t sent = 0;

	(void)state;
	much_fill();
	opened();
	for (int i = 0; i < 10000 && got_n < sizeof(much); i++) {
		sent += tls_write(
			&server.stream, (struct slice){ much + sent, sizeof(much) - sent });
		tls_flush(&server.stream);
		run_ms(0);
	}
	assert_int_equal(got_n, sizeof(much));
	assert_memory_equal(got, much, sizeof(much));
}

/* A client that writes whenever it is told that there is room. */
static size_t written;

static void write_changed(struct tls_stream *t)
{
	written += tls_write(t, (struct slice){ much + written, sizeof(server.got) - written });
	tls_flush(t);
	changes++;
}

static void test_a_writer_is_told_when_there_is_room_again(void **state)
{
	(void)state;
	much_fill();
	opened();
	server.lazy = true;
	client.stream.changed = write_changed;
	written = tls_write(&client.stream, (struct slice){ much, sizeof(server.got) });
	assert_true(written > 0 && written < sizeof(server.got));
	run_ms(50);
	assert_true(written < sizeof(server.got)); /* the server does not read */
	server.lazy = false;
	server_changed(&server.stream);
	run_until(server.got_n == sizeof(server.got));
	assert_memory_equal(server.got, much, sizeof(server.got));
}

static void test_what_is_not_read_makes_the_peer_wait(void **state)
{
	size_t sent, more;

	(void)state;
	opened();
	lazy = true;
	changes = 0;
	sent = tls_write(&server.stream, (struct slice){ much, sizeof(much) });
	run_ms(50);
	more = tls_write(&server.stream, (struct slice){ much, sizeof(much) });
	run_ms(50);
	assert_true(sent + more < sizeof(much));
	assert_int_equal(changes, 1); /* the loop does not spin */
	assert_true(tls_readable(&client.stream).n > 0);
	assert_true(tls_readable(&client.stream).n <= 16 * KIB);
}

static void test_small_records_are_not_held_back(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(to), size = sizeof(int);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0),
	    on = 0;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&to, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&to, &n), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, n), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	trust("ca.pem");
	peer = (struct tls_peer){ .host = "127.0.0.1", .roots = &roots };
	assert_int_equal(tls_client_start(&client, fd, &peer), 0);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
	assert_int_equal(on, 1);
	close(listener);
}

/* --- ends --- */

static void test_a_farewell_closes(void **state)
{
	(void)state;
	opened();
	say(&server.stream, LIT("that is all"));
	tls_stream_end(&server.stream);
	run_until(client.stream.state == TLS_CLOSED);
	heard("that is all");
	assert_int_equal(tls_write(&client.stream, LIT("more")), 0);
}

static void test_bytes_before_a_farewell_are_read_first(void **state)
{
	(void)state;
	opened();
	lazy = true;
	say(&server.stream, LIT("that is all"));
	tls_stream_end(&server.stream);
	run_ms(20);
	assert_int_equal(client.stream.state, TLS_OPEN);
	lazy = false;
	client_changed(&client.stream);
	run_until(client.stream.state == TLS_CLOSED);
	heard("that is all");
}

/* The server is gone without a word. */
static void server_dies(void)
{
	server.stream.state = TLS_FAILED;
	tls_stream_end(&server.stream);
}

static void test_an_end_without_a_farewell_is_a_failure(void **state)
{
	(void)state;
	opened();
	say(&server.stream, LIT("that is"));
	server_dies();
	run_until(client.stream.state == TLS_FAILED);
	assert_int_equal(client.stream.error, -ECONNRESET);
	heard("that is");
	assert_failure("the connection broke off: Connection reset by peer");
}

static void test_an_answer_is_read_though_the_request_cannot_be_sent(void **state)
{
	(void)state;
	opened();
	lazy = true;
	say(&server.stream, LIT("413"));
	run_ms(20);
	server_dies();
	tls_write(&client.stream, (struct slice){ much, sizeof(much) });
	run_ms(20);
	lazy = false;
	client_changed(&client.stream);
	heard("413");
	run_until(client.stream.state == TLS_FAILED);
	assert_int_equal(client.stream.error, -EPIPE);
}

static void test_an_end_in_the_handshake_says_so(void **state)
{
	(void)state;
	trust("ca.pem");
	close(client_connect("127.0.0.1"));
	run_until(client.stream.state == TLS_FAILED);
	assert_failure("the connection broke off in the TLS handshake: Connection reset by peer");
	assert_int_equal(changes, 1);
}

static void test_the_client_says_farewell_with_bytes_unread(void **state)
{
	(void)state;
	opened();
	lazy = true;
	say(&server.stream, LIT("unread"));
	run_until(tls_readable(&client.stream).n == 6);
	tls_client_end(&client);
	run_until(server.stream.state == TLS_CLOSED);
}

static void end_changed(struct tls_stream *t)
{
	changes++;
	if (t->state == TLS_OPEN)
		tls_client_end(&client);
}

static void test_the_owner_may_end_it_when_told(void **state)
{
	(void)state;
	trust("ca.pem");
	server_start(client_connect("127.0.0.1"), "full.pem");
	client.stream.changed = end_changed;
	run_until(server.stream.state == TLS_CLOSED);
	assert_int_equal(changes, 1);
	tls_client_end(&client);
}

static void test_an_ended_connection_gives_all_back(void **state)
{
	size_t before = mem_opened();
	int fd;

	(void)state;
	opened();
	assert_true(mem_opened() > before);
	fd = client.stream.watch.fd;
	tls_client_end(&client);
	assert_int_equal(mem_opened(), before);
	assert_false(unit_readable(client.mem.p));
	assert_false(unit_readable(client.cert.p));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_no_certificate_is_kept_while_connected(void **state)
{
	(void)state;
	opened();
	assert_false(unit_readable(client.cert.p));
}

/* --- what the client says first --- */

struct hello {
	unsigned char raw[512];
	struct slice suites, extensions;
};

static struct slice cut(struct slice *s, size_t n)
{
	struct slice head = slice_head(*s, n);

	assert_true(n <= s->n);
	*s = slice_from(*s, n);
	return head;
}

static size_t number(struct slice *s, size_t bytes)
{
	struct slice part = cut(s, bytes);
	size_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)part.p[i];
	return v;
}

/* RFC 5246 section 7.4.1.2 */
static void hello_read(struct hello *h, const char *host)
{
	int fd;
	struct slice s;

	trust("ca.pem");
	fd = client_connect(host);
	s = (struct slice){ (const char *)h->raw, (size_t)read(fd, h->raw, sizeof(h->raw)) };
	close(fd);
	assert_int_equal(number(&s, 1), 22);
	cut(&s, 2 + 2 + 4);
	assert_int_equal(number(&s, 2), 0x0303);
	cut(&s, 32);
	cut(&s, number(&s, 1));
	h->suites = cut(&s, number(&s, 2));
	cut(&s, number(&s, 1));
	h->extensions = cut(&s, number(&s, 2));
	assert_int_equal(s.n, 0);
}

static bool extension(const struct hello *h, size_t type, struct slice *value)
{
	struct slice s = h->extensions;

	while (s.n > 0) {
		size_t t = number(&s, 2);

		*value = cut(&s, number(&s, 2));
		if (t == type)
			return true;
	}
	return false;
}

#define SNI 0
#define CURVES 10
#define ALPN 16

static void test_the_suites_are_forward_secret_and_authenticated(void **state)
{
	static const char aes_first[] = "\xc0\x2b\xc0\x2f\xc0\x2c\xc0\x30\xcc\xa9\xcc\xa8";
	static const char chacha_first[] = "\xcc\xa9\xcc\xa8\xc0\x2b\xc0\x2f\xc0\x2c\xc0\x30";
	static const char no_renegotiation_info[] = "\x00\xff"; /* RFC 5746 section 3.3 */
	bool aes = br_aes_x86ni_ctr_get_vtable() != NULL;
	struct hello h;
	struct slice s;

	(void)state;
	hello_read(&h, "127.0.0.1");
	if (number(&(struct slice){ h.suites.p, 2 }, 2) == 0x00ff)
		h.suites = slice_from(h.suites, sizeof(no_renegotiation_info) - 1);
	s = aes ? LIT(aes_first) : LIT(chacha_first);
	assert_same(slice_head(h.suites, s.n), s);
	assert_int_equal(h.suites.n, s.n);
}

static void test_x25519_is_the_first_curve(void **state)
{
	struct hello h;
	struct slice s;

	(void)state;
	hello_read(&h, "127.0.0.1");
	assert_true(extension(&h, CURVES, &s));
	assert_slice(s, "\0\x08\0\x1d\0\x17\0\x18\0\x19");
}

static void test_only_names_are_told_and_no_other_protocol(void **state)
{
	struct hello h;
	struct slice s;

	(void)state;
	hello_read(&h, "127.0.0.1");
	assert_false(extension(&h, SNI, &s));
	assert_false(extension(&h, ALPN, &s));
	tls_client_end(&client);
	hello_read(&h, "::1");
	assert_false(extension(&h, SNI, &s));
	tls_client_end(&client);
	hello_read(&h, "master.test");
	assert_true(extension(&h, SNI, &s));
	assert_slice(s, "\0\x0e\0\0\x0bmaster.test");
	assert_false(extension(&h, ALPN, &s));
}

/* --- who does not speak our TLS --- */

/* The failure of a client that is answered with those bytes. */
static struct slice answered(struct slice bytes)
{
	int fd;

	tls_client_end(&client);
	trust("ca.pem");
	fd = client_connect("127.0.0.1");
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	run_until(client.stream.state == TLS_FAILED);
	close(fd);
	return failure();
}

static void test_a_server_that_speaks_http_is_recognised(void **state)
{
	(void)state;
	assert_slice(answered(LIT("HTTP/1.1 400 Bad Request\r\n\r\n")), "not a TLS server");
	assert_slice(answered(LIT("<!DOCTYPE HTML>\n")), "not a TLS server");
	assert_slice(answered(LIT("SSH-2.0-OpenSSH_9\r\n")), "not a TLS server");
}

static void test_alerts_have_their_sentences(void **state)
{
	(void)state;
	assert_slice(answered(LIT("\x15\3\3\0\2\2\x46")), "TLS: the master refused TLS 1.2");
	assert_slice(answered(LIT("\x15\3\3\0\2\2\x28")),
		"TLS error 296: the master takes none of our cipher suites (ECDHE with AES-GCM or "
		"ChaCha20-Poly1305)");
	assert_slice(answered(LIT("\x15\3\3\0\2\2\x50")), "TLS error 336");
}

static void test_records_of_another_protocol_are_refused(void **state)
{
	(void)state;
	assert_slice(answered(LIT("\x16\2\0\0\4abcd")), "the master offers no TLS 1.2");
	assert_slice(answered(LIT("\x16\3\3\x7f\xff")), "TLS error 5");
}

static void test_a_server_that_answers_with_tls_1_1_is_refused(void **state)
{
	char hello[5 + 42] = "\x16\3\2\0\x2a\2\0\0\x26\3\2"; /* and 32 random bytes of 0 */

	(void)state;
	memcpy(hello + sizeof(hello) - 4, "\0\xc0\x2b\0", 4);
	assert_slice(
		answered((struct slice){ hello, sizeof(hello) }), "the master offers no TLS 1.2");
}

static void test_a_server_with_other_suites_is_refused(void **state)
{
	static const uint16_t cbc[] = { BR_TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 };

	(void)state;
	server.suites = cbc;
	server.suites_n = 1;
	assert_int_equal(meet("127.0.0.1", "ca.pem", "full.pem"), TLS_FAILED);
	assert_slice(slice_head(failure(), 13), "TLS error 296");
}

static void test_each_suite_opens(void **state)
{
	static const uint16_t all[] = { 0xc02b, 0xc02c, 0xcca9 };
	static const uint16_t all_rsa[] = { 0xc02f, 0xc030, 0xcca8 };

	(void)state;
	server.suites_n = 1;
	for (size_t i = 0; i < COUNT(all); i++) {
		server.suites = &all[i];
		assert_int_equal(meet("127.0.0.1", "ca.pem", "full.pem"), TLS_OPEN);
		both_end();
		server.suites = &all_rsa[i];
		assert_int_equal(meet("127.0.0.1", "ca-rsa.pem", "rsa.pem"), TLS_OPEN);
		both_end();
	}
}

static void test_nobody_negotiates_anew(void **state)
{
	(void)state;
	opened();
	assert_int_equal(br_ssl_engine_renegotiate(&server.ctx.eng), 1);
	tls_flush(&server.stream);
	run_until(server.stream.state == TLS_FAILED);
	assert_int_equal(server.stream.error, BR_ERR_RECV_FATAL_ALERT + 100);
}

/* --- early boot --- */

static void test_random_numbers_are_waited_for(void **state)
{
	(void)state;
	randoms_missing = 2;
	trust("ca.pem");
	server_start(client_connect("127.0.0.1"), "full.pem"); /* one missing for each */
	assert_int_equal(randoms_missing, 0);
	run_ms(10);
	assert_int_equal(client.stream.state, TLS_HANDSHAKE);
	assert_int_equal(client.stream.first_n, 0);
	run_until(client.stream.state == TLS_OPEN);
}

static void test_an_end_while_waiting_is_fine(void **state)
{
	int fd;

	(void)state;
	randoms_missing = 1000;
	trust("ca.pem");
	fd = client_connect("127.0.0.1");
	run_ms(120);
	tls_client_end(&client);
	randoms_missing = 0;
	run_ms(120);
	assert_int_equal(read(fd, got, 1), 0); /* not a byte, and closed */
	assert_int_equal(changes, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TLS_TEST(test_bytes_go_both_ways),
		TLS_TEST(test_nothing_leaves_before_it_is_flushed),
		TLS_TEST(test_a_megabyte_is_read_in_its_order),
		TLS_TEST(test_a_writer_is_told_when_there_is_room_again),
		TLS_TEST(test_what_is_not_read_makes_the_peer_wait),
		TLS_TEST(test_small_records_are_not_held_back),
		TLS_TEST(test_a_farewell_closes),
		TLS_TEST(test_bytes_before_a_farewell_are_read_first),
		TLS_TEST(test_an_end_without_a_farewell_is_a_failure),
		TLS_TEST(test_an_answer_is_read_though_the_request_cannot_be_sent),
		TLS_TEST(test_an_end_in_the_handshake_says_so),
		TLS_TEST(test_the_client_says_farewell_with_bytes_unread),
		TLS_TEST(test_the_owner_may_end_it_when_told),
		TLS_TEST(test_an_ended_connection_gives_all_back),
		TLS_TEST(test_no_certificate_is_kept_while_connected),
		TLS_TEST(test_the_suites_are_forward_secret_and_authenticated),
		TLS_TEST(test_x25519_is_the_first_curve),
		TLS_TEST(test_only_names_are_told_and_no_other_protocol),
		TLS_TEST(test_a_server_that_speaks_http_is_recognised),
		TLS_TEST(test_alerts_have_their_sentences),
		TLS_TEST(test_records_of_another_protocol_are_refused),
		TLS_TEST(test_a_server_that_answers_with_tls_1_1_is_refused),
		TLS_TEST(test_a_server_with_other_suites_is_refused),
		TLS_TEST(test_each_suite_opens),
		TLS_TEST(test_nobody_negotiates_anew),
		TLS_TEST(test_random_numbers_are_waited_for),
		TLS_TEST(test_an_end_while_waiting_is_fine),
	};

	return cmocka_run_group_tests_name("tls stream", tests, tls_test_start, NULL);
}
