/*
 * The TLS server against our own client: certificates of every kind, what is wrong with the files
 * that are named, reloading, short handshakes, ends and pauses, peers that do not play by the
 * rules.
 */
#include "tls_peer.h"

#include "tls/identity.h"
#include "tls/pkey.h"
#include "tls/server.h"

#define DATA "tests/unit/data/"

static struct tls_server srv;
static char srv_got[64 * KIB];
static size_t srv_got_n;

static void srv_changed(struct tls_stream *t)
{
	struct slice s;

	while (!t->hung && (s = tls_readable(t)).n > 0) {
		s = slice_head(s, sizeof(srv_got) - srv_got_n);
		memcpy(srv_got + srv_got_n, s.p, s.n);
		srv_got_n += s.n;
		tls_consumed(t, s.n);
	}
}

static char why_mem[1000];
static struct buf why;

static int load(const char *cert, const char *key)
{
	buf_over(&why, why_mem, sizeof(why_mem));
	return tls_server_load(cert, key, &why);
}

static void begin(void)
{
	srv.stream.changed = srv_changed;
	srv_got_n = 0;
	assert_int_equal(tls_server_start(&srv, client_connect("localhost")), 0);
}

static void met(void)
{
	run_until(client.stream.state != TLS_HANDSHAKE && srv.stream.state != TLS_HANDSHAKE);
	assert_int_equal(client.stream.state, TLS_OPEN);
}

static void end(void)
{
	tls_client_end(&client);
	tls_server_end(&srv);
}

/* One connection from beginning to end: a word each way. */
static void talk(void)
{
	begin();
	met();
	assert_int_equal(tls_write(&client.stream, LIT("ping")), 4);
	tls_flush(&client.stream);
	run_until(srv_got_n == 4);
	assert_int_equal(tls_write(&srv.stream, LIT("pong")), 4);
	tls_flush(&srv.stream);
	run_until(got_n == 4);
	end();
}

/* --- certificates --- */

static void test_every_kind_of_key_serves(void **state)
{
	static const char *const files[] = { "keys/p256.pem", "keys/p384.pem", "keys/p256-sec1.pem",
		"keys/rsa2048.pem", "keys/rsa3072.pem", "keys/rsa4096-pkcs1.pem" };

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		char path[100];

		snprintf(path, sizeof(path), DATA "%s", files[i]);
		assert_int_equal(load(path, path), 0);
		trust(files[i]);
		peer.host = NULL;
		talk();
	}
}

static void test_a_chain_goes_with_the_certificate(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "chain.pem", DATA "leaf.key"), 0);
	assert_null(tls_server_root());
	trust("ca.pem");
	talk();
}

static void write_file(const char *path, const char *const *parts)
{
	struct buf text = unit_buf(64 * KIB);

	for (; *parts; parts++)
		buf_slice(&text, data_text(*parts));
	assert_int_equal(replace_file(path, 0600, buf_all(&text)), 0);
	buf_release(&text);
}

static const char temp[] = "build/unit/test_tls_server.pem";

static void test_the_root_behind_a_chain_is_not_sent_but_known(void **state)
{
	const char *const parts[] = { "chain.pem", "ca.pem", NULL };
	struct identity i = { 0 };

	(void)state;
	write_file(temp, parts);
	buf_over(&why, why_mem, sizeof(why_mem));
	assert_int_equal(identity_read(&i, temp, DATA "leaf.key", &why), 0);
	assert_int_equal(i.chain.count, 3);
	assert_int_equal(i.sent, 2);
	assert_same(identity_root(&i)->der, data_der("ca.pem"));
	identity_drop(&i);
	assert_int_equal(load(temp, DATA "leaf.key"), 0);
	assert_same(tls_server_root()->der, data_der("ca.pem"));
	trust("ca.pem");
	talk();
	unlink(temp);
}

static void test_one_that_is_its_own_root_is_sent(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "keys/p256.pem", DATA "keys/p256.pem"), 0);
	assert_ptr_equal(tls_server_root(), tls_server_cert());
	trust("keys/p256.pem");
	talk();
}

static void test_an_expired_one_serves_those_who_take_it(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "expired.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	begin();
	run_until(client.stream.state == TLS_FAILED);
	assert_int_equal(client.stream.error, BR_ERR_X509_EXPIRED);
}

/* --- what is wrong with the files --- */

static void test_what_is_wrong_with_the_files_is_one_sentence(void **state)
{
	static const char *const wrong_order[] = { "keys/p256.pem", "full.pem", NULL };
	static const char *const stranger[] = { "full.pem", "ca-rsa.pem", NULL };
	static const struct {
		const char *cert, *key, *why;
	} bad[] = {
		{ DATA "none.pem", DATA "leaf.key",
			"SANDSTORM_TLS_CERT " DATA "none.pem: No such file or directory" },
		{ DATA "full.pem", DATA "none.key",
			"SANDSTORM_TLS_KEY " DATA "none.key: No such file or directory" },
		{ DATA "leaf.key", DATA "leaf.key",
			"SANDSTORM_TLS_CERT " DATA
			"leaf.key: holds no certificate (no line -----BEGIN CERTIFICATE-----)" },
		{ DATA "full.pem", DATA "full.pem",
			"SANDSTORM_TLS_KEY " DATA
			"full.pem: holds no private key (no line -----BEGIN PRIVATE KEY-----)" },
		{ DATA "full.pem", DATA "keys/encrypted.pem",
			"SANDSTORM_TLS_KEY " DATA
			"keys/encrypted.pem: is encrypted; a copy without passphrase comes from: "
			"openssl pkey -in OLD -out NEW" },
		{ DATA "full.pem", DATA "leaf-rsa.key",
			"SANDSTORM_TLS_KEY " DATA "leaf-rsa.key: the key does not fit the "
			"certificate in SANDSTORM_TLS_CERT " DATA "full.pem" },
		{ DATA "full.pem", DATA "keys/p256.pem",
			"SANDSTORM_TLS_KEY " DATA "keys/p256.pem: the key does not fit the "
			"certificate in SANDSTORM_TLS_CERT " DATA "full.pem" },
		{ temp, DATA "leaf.key",
			"SANDSTORM_TLS_CERT build/unit/test_tls_server.pem: the key in "
			"SANDSTORM_TLS_KEY " DATA
			"leaf.key belongs to certificate 2 in it, which must come first" },
		{ "build/unit", DATA "leaf.key", "SANDSTORM_TLS_CERT build/unit: Is a directory" },
	};

	(void)state;
	write_file(temp, wrong_order);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(load(bad[i].cert, bad[i].key), -EINVAL);
		assert_same(buf_all(&why), slice_of(bad[i].why));
	}
	write_file(temp, stranger);
	assert_int_equal(load(temp, DATA "leaf.key"), -EINVAL);
	assert_slice(buf_all(&why),
		"SANDSTORM_TLS_CERT build/unit/test_tls_server.pem: certificate 2 in it did not "
		"issue certificate 1; the server's own comes first, then the CA that issued it, "
		"then that CA's");
	unlink(temp);
}

/* --- reloading --- */

static void test_files_that_cannot_be_used_change_nothing(void **state)
{
	struct slice before;

	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	before = tls_server_cert()->der;
	assert_int_equal(load(DATA "full.pem", DATA "leaf-rsa.key"), -EINVAL);
	assert_int_equal(load(DATA "none.pem", DATA "leaf.key"), -EINVAL);
	assert_ptr_equal(tls_server_cert()->der.p, before.p);
	trust("ca.pem");
	talk();
}

static void test_what_has_begun_goes_on_with_the_old_key(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "rsa.pem", DATA "leaf-rsa.key"), 0);
	trust("ca-rsa.pem");
	begin();
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), -EBUSY);
	met();
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0); /* the old one is free again */
	assert_int_equal(tls_write(&srv.stream, LIT("still here")), 10);
	tls_flush(&srv.stream);
	run_until(got_n == 10);
	end();
	trust("ca.pem");
	talk();
}

static void test_a_handshake_that_breaks_off_lets_go_of_the_old_key(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "rsa.pem", DATA "leaf-rsa.key"), 0);
	trust("ca-rsa.pem");
	begin();
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	end();
	assert_int_equal(load(DATA "rsa.pem", DATA "leaf-rsa.key"), 0);
}

/* --- sessions --- */

static void test_a_client_that_comes_back_is_quickly_in(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	talk();
	begin();
	met();
	assert_true(client_resumed());
	end();
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	begin();
	met();
	assert_false(client_resumed());
}

/* It began before the new certificate, so it is not to be taken up under that. */
static void test_a_session_of_an_old_handshake_is_not_kept(void **state)
{
	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	begin();
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	met();
	end();
	begin();
	met();
	assert_false(client_resumed());
	end();
	begin();
	met();
	assert_true(client_resumed());
}

/* --- pauses and ends --- */

static void opened(void)
{
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	begin();
	met();
}

static void client_says(const char *text)
{
	assert_int_equal(tls_write(&client.stream, slice_of(text)), strlen(text));
	tls_flush(&client.stream);
}

static void test_who_does_not_want_bytes_is_not_told_of_them(void **state)
{
	(void)state;
	opened();
	tls_want(&srv.stream, 0);
	client_says("ping");
	run_ms(30);
	assert_int_equal(srv_got_n, 0);
	tls_want(&srv.stream, LOOP_HANGUP);
	run_ms(30);
	assert_int_equal(srv_got_n, 0);
	tls_want(&srv.stream, LOOP_READ);
	run_until(srv_got_n == 4);
}

static void test_an_end_is_heard_of_while_bytes_are_not_wanted(void **state)
{
	(void)state;
	opened();
	tls_want(&srv.stream, LOOP_HANGUP);
	tls_client_end(&client);
	run_until(srv.stream.state == TLS_CLOSED);
}

static void test_a_broken_connection_too(void **state)
{
	(void)state;
	opened();
	tls_want(&srv.stream, LOOP_HANGUP);
	shutdown(client.stream.watch.fd, SHUT_WR);
	run_until(srv.stream.state == TLS_FAILED);
	assert_int_equal(srv.stream.error, -ECONNRESET);
}

static void test_an_end_behind_bytes_that_wait_is_a_hang_up(void **state)
{
	(void)state;
	opened();
	tls_want(&srv.stream, LOOP_HANGUP);
	client_says("the next request");
	run_ms(30);
	assert_false(srv.stream.hung);
	tls_client_end(&client);
	run_until(srv.stream.hung);
	assert_int_equal(srv.stream.state, TLS_OPEN);
	assert_int_equal(srv_got_n, 0);
	tls_want(&srv.stream, LOOP_READ);
	run_until(srv.stream.state == TLS_CLOSED);
	assert_int_equal(srv_got_n, 16);
}

static void test_leaving_says_the_last_word_and_keeps_the_socket(void **state)
{
	char byte;
	int fd;

	(void)state;
	opened();
	assert_int_equal(tls_write(&srv.stream, LIT("the answer")), 10);
	tls_flush(&srv.stream);
	fd = tls_server_leave(&srv);
	assert_true(fd >= 0);
	run_until(client.stream.state == TLS_CLOSED);
	assert_slice(((struct slice){ got, got_n }), "the answer");
	assert_int_equal(shutdown(fd, SHUT_WR), 0); /* it is open still */
	tls_client_end(&client);
	while (read(fd, &byte, 1) > 0)
		;
	close(fd);
	tls_server_end(&srv); /* nothing is left to end */
}

static void test_what_a_flush_leaves_behind_is_told_when_it_has_left(void **state)
{
	static char much[MIB];
	size_t written = 0;

	(void)state;
	opened();
	lazy = true;
	while (written < sizeof(much)) {
		size_t n = tls_write(&srv.stream, (struct slice){ much, sizeof(much) - written });

		written += n;
		tls_flush(&srv.stream);
		if (n == 0)
			break;
		run_ms(0);
	}
	assert_true(written > 0 && written < sizeof(much));
	assert_false(tls_sent(&srv.stream));
	lazy = false;
	client_changed(&client.stream);
	run_until(tls_sent(&srv.stream));
	assert_int_equal(tls_send_error(&srv.stream), 0);
}

static void test_memory_goes_back(void **state)
{
	size_t before;

	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	talk();
	before = mem_opened();
	for (int i = 0; i < 5; i++)
		talk();
	assert_int_equal(mem_opened(), before);
	assert_false(unit_readable(srv.mem.p)); /* wiped by the kernel */
}

static void test_connections_need_none_of_the_memory_for_messages(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	trust("ca.pem");
	fd = client_connect("localhost"); /* the client has its memory by now */
	mem_set_budget(1);
	srv.stream.changed = srv_changed;
	assert_int_equal(tls_server_start(&srv, fd), 0);
	mem_set_budget(SIZE_MAX);
	met();
}

static void test_what_was_read_is_wiped(void **state)
{
	struct slice s;

	(void)state;
	opened();
	lazy = true;
	assert_int_equal(tls_write(&srv.stream, LIT("Bearer a-token")), 14);
	tls_flush(&srv.stream);
	run_until((s = tls_readable(&client.stream)).n == 14);
	tls_consumed(&client.stream, 7);
	assert_memory_equal(s.p, "\0\0\0\0\0\0\0a-token", 14);
	assert_slice(tls_readable(&client.stream), "a-token");
	tls_consumed(&client.stream, 7);
	assert_memory_equal(s.p, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 14);
}

/* --- peers that do not play by the rules --- */

static int raw(void)
{
	int fd[2];

	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	pair_make(fd);
	srv.stream.changed = srv_changed;
	assert_int_equal(tls_server_start(&srv, fd[0]), 0);
	return fd[1];
}

static void raw_says(int fd, struct slice s)
{
	assert_int_equal(write(fd, s.p, s.n), s.n);
	run_until(srv.stream.state == TLS_FAILED);
}

static void test_http_is_known_as_such(void **state)
{
	static const char *const requests[] = { "GET / HTTP/1.1\r\n\r\n",
		"POST /mcp HTTP/1.1\r\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(requests); i++) {
		int fd = raw();

		raw_says(fd, slice_of(requests[i]));
		assert_true(tls_server_met_http(&srv));
		tls_server_end(&srv);
		close(fd);
	}
}

static void test_and_nothing_else_is(void **state)
{
	static const char *const texts[] = { "get / HTTP/1.1\r\n", "\x80\x2e\x01\x03\x01 SSL 2",
		"{\"jsonrpc\":\"2.0\"}\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		int fd = raw();

		raw_says(fd, slice_of(texts[i]));
		assert_false(tls_server_met_http(&srv));
		tls_server_end(&srv);
		close(fd);
	}
}

static void test_one_byte_and_gone(void **state)
{
	int fd = raw();

	(void)state;
	assert_int_equal(write(fd, "G", 1), 1);
	close(fd);
	run_until(srv.stream.state == TLS_FAILED);
	assert_int_equal(srv.stream.error, -ECONNRESET);
	assert_false(tls_server_met_http(&srv));
}

/* A client whose ECDHE share may be too short, or another one than it reckons with. */
static struct {
	struct tls_stream stream;
	br_ssl_client_context ctx;
	br_x509_knownkey_context known;
	br_ec_impl ec;
	size_t cut;
	unsigned char bits;
	unsigned char in[BR_SSL_BUFSIZE_INPUT], out[BR_SSL_BUFSIZE_OUTPUT];
} wild;

/* The engine compares the length of its own share with that of the server's. */
static const unsigned char *wild_generator(int curve, size_t *n)
{
	const unsigned char *g = br_ec_all_m31.generator(curve, n);

	*n -= wild.cut;
	return g;
}

/* Called when the server's share has been read. */
static uint32_t wild_verify(const br_ec_impl *ec, const void *hash, size_t hash_n,
	const br_ec_public_key *key, const void *signature, size_t signature_n)
{
	(void)ec, (void)hash, (void)hash_n, (void)key, (void)signature, (void)signature_n;
	wild.ctx.eng.ecdhe_point_len = (unsigned char)(wild.ctx.eng.ecdhe_point_len - wild.cut);
	return 1;
}

static uint32_t wild_mul(unsigned char *g, size_t n, const unsigned char *x, size_t x_n, int curve)
{
	br_ec_all_m31.mul(g, n + wild.cut, x, x_n, curve);
	return 1;
}

static size_t wild_mulgen(unsigned char *r, const unsigned char *x, size_t n, int curve)
{
	size_t len = br_ec_all_m31.mulgen(r, x, n, curve);

	r[len - 1] ^= wild.bits;
	return len;
}

static bool wild_reset(struct tls_stream *t)
{
	(void)t;
	return br_ssl_client_reset(&wild.ctx, NULL, 0);
}

static void wild_changed(struct tls_stream *t)
{
	(void)t;
}

static void wild_start(int fd, int curve)
{
	static struct cert c;
	br_ec_public_key key;

	c = data_cert("full.pem");
	key = pkey_ec(&c.key);
	br_x509_knownkey_init_ec(&wild.known, &key, BR_KEYTYPE_SIGN);
	memset(&wild.ctx, 0, sizeof(wild.ctx));
	br_ssl_client_init_full(&wild.ctx, &(br_x509_minimal_context){ 0 }, NULL, 0);
	br_ssl_engine_set_x509(&wild.ctx.eng, &wild.known.vtable);
	wild.ec = br_ec_all_m31;
	wild.ec.supported_curves = 1u << curve | 1u << 23; /* the certificate's is 23 */
	wild.ec.generator = wild_generator;
	wild.ec.mul = wild_mul;
	wild.ec.mulgen = wild_mulgen;
	br_ssl_engine_set_ec(&wild.ctx.eng, &wild.ec);
	br_ssl_engine_set_ecdsa(&wild.ctx.eng, wild_verify);
	br_ssl_engine_set_buffers_bidi(
		&wild.ctx.eng, wild.in, sizeof(wild.in), wild.out, sizeof(wild.out));
	wild.stream = (struct tls_stream){
		.engine = &wild.ctx.eng, .reset = wild_reset, .changed = wild_changed
	};
	assert_int_equal(tls_stream_start(&wild.stream, fd), 0);
}

static enum tls_state wild_meets(int curve, size_t cut, unsigned char bits)
{
	int fd[2];

	wild.cut = cut;
	wild.bits = bits;
	pair_make(fd);
	srv.stream.changed = srv_changed;
	assert_int_equal(tls_server_start(&srv, fd[0]), 0);
	wild_start(fd[1], curve);
	run_until(srv.stream.state != TLS_HANDSHAKE);
	assert_int_equal(wild.ctx.eng.ecdhe_curve, curve);
	tls_stream_end(&wild.stream);
	tls_server_end(&srv);
	return srv.stream.state;
}

static void test_shares_that_are_no_points_are_refused(void **state)
{
	static const int curves[] = { 29, 23 };

	(void)state;
	assert_int_equal(load(DATA "full.pem", DATA "leaf.key"), 0);
	for (size_t i = 0; i < COUNT(curves); i++) {
		assert_int_equal(wild_meets(curves[i], 0, 0), TLS_OPEN);
		assert_int_equal(wild_meets(curves[i], 1, 0), TLS_FAILED);
		assert_int_equal(wild_meets(curves[i], 20, 0), TLS_FAILED);
		assert_int_equal(wild_meets(curves[i], 0, 1), TLS_FAILED);
	}
}

static void test_the_client_says_what_it_thinks_of_the_certificate(void **state)
{
	char mem[100];
	struct buf text;

	(void)state;
	buf_over(&text, mem, sizeof(mem));
	srv.stream.error = BR_ERR_RECV_FATAL_ALERT + 48;
	tls_server_put_failure(&srv, &text);
	assert_slice(buf_all(&text), "the client does not trust the certificate's CA");
	buf_cut(&text, 0);
	srv.stream.error = BR_ERR_BAD_MAC;
	tls_server_put_failure(&srv, &text);
	assert_slice(buf_all(&text), "TLS error 7");
}

/* --- turns --- */

static struct turn queue[3];
static int turn_order[4], turns_run;

static void turn_ran(struct turn *t)
{
	assert_true(turns_run < 4);
	turn_order[turns_run++] = (int)(t - queue);
}

static void test_one_step_in_each_turn_of_the_loop(void **state)
{
	(void)state;
	turns_run = 0;
	for (int i = 0; i < 3; i++)
		queue[i].run = turn_ran;
	turn_wait(&queue[2]);
	turn_wait(&queue[0]);
	turn_wait(&queue[1]);
	turn_wait(&queue[2]); /* waits already */
	for (int i = 1; i <= 3; i++) {
		run_ms(0);
		assert_true(turns_run <= i);
	}
	run_until(turns_run == 3);
	assert_int_equal(turn_order[0], 2);
	assert_int_equal(turn_order[1], 0);
	assert_int_equal(turn_order[2], 1);
}

static void test_who_leaves_has_no_turn(void **state)
{
	(void)state;
	turns_run = 0;
	for (int i = 0; i < 3; i++) {
		queue[i].run = turn_ran;
		turn_wait(&queue[i]);
	}
	turn_leave(&queue[2]); /* the last one, then one behind another */
	turn_leave(&queue[2]);
	turn_wait(&queue[2]);
	turn_leave(&queue[0]);
	run_until(turns_run == 2);
	run_ms(10);
	assert_int_equal(turns_run, 2);
	assert_int_equal(turn_order[0], 1);
	assert_int_equal(turn_order[1], 2);
}

static int tear_down(void **state)
{
	end();
	return tls_test_end(state);
}

#define SERVER_TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_every_kind_of_key_serves),
		SERVER_TEST(test_a_chain_goes_with_the_certificate),
		SERVER_TEST(test_the_root_behind_a_chain_is_not_sent_but_known),
		SERVER_TEST(test_one_that_is_its_own_root_is_sent),
		SERVER_TEST(test_an_expired_one_serves_those_who_take_it),
		SERVER_TEST(test_what_is_wrong_with_the_files_is_one_sentence),
		SERVER_TEST(test_files_that_cannot_be_used_change_nothing),
		SERVER_TEST(test_what_has_begun_goes_on_with_the_old_key),
		SERVER_TEST(test_a_handshake_that_breaks_off_lets_go_of_the_old_key),
		SERVER_TEST(test_a_client_that_comes_back_is_quickly_in),
		SERVER_TEST(test_a_session_of_an_old_handshake_is_not_kept),
		SERVER_TEST(test_who_does_not_want_bytes_is_not_told_of_them),
		SERVER_TEST(test_an_end_is_heard_of_while_bytes_are_not_wanted),
		SERVER_TEST(test_a_broken_connection_too),
		SERVER_TEST(test_an_end_behind_bytes_that_wait_is_a_hang_up),
		SERVER_TEST(test_leaving_says_the_last_word_and_keeps_the_socket),
		SERVER_TEST(test_what_a_flush_leaves_behind_is_told_when_it_has_left),
		SERVER_TEST(test_memory_goes_back),
		SERVER_TEST(test_connections_need_none_of_the_memory_for_messages),
		SERVER_TEST(test_what_was_read_is_wiped),
		SERVER_TEST(test_http_is_known_as_such),
		SERVER_TEST(test_and_nothing_else_is),
		SERVER_TEST(test_one_byte_and_gone),
		SERVER_TEST(test_shares_that_are_no_points_are_refused),
		SERVER_TEST(test_the_client_says_what_it_thinks_of_the_certificate),
		SERVER_TEST(test_one_step_in_each_turn_of_the_loop),
		SERVER_TEST(test_who_leaves_has_no_turn),
	};

	return cmocka_run_group_tests(tests, tls_test_start, NULL);
}
