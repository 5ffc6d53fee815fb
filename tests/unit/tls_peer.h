/*
 * The other end of a TLS connection, in the same process: BearSSL's server engine over the same
 * pump, or a script of bytes. One client talks to one server at a time.
 */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include "tls_data.h"
#include "turn.h"

#include <bearssl.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "tls/client_state.h"

/* --- the server --- */

static struct {
	struct tls_stream stream;
	br_ssl_server_context ctx;
	br_skey_decoder_context key;
	br_x509_certificate chain[2];
	br_ssl_session_cache_lru cache;
	unsigned char sessions[1024];
	unsigned char in[BR_SSL_BUFSIZE_INPUT], out[BR_SSL_BUFSIZE_OUTPUT];
	const uint16_t *suites; /* NULL: all */
	size_t suites_n;
	char got[256 * KIB]; /* what the client has sent */
	size_t got_n;
	bool lazy; /* leaves the client's bytes where they are */
} server;

static inline void server_changed(struct tls_stream *t)
{
	struct slice s;

	while (!server.lazy && (s = tls_readable(t)).n > 0) {
		s = slice_head(s, sizeof(server.got) - server.got_n);
		memcpy(server.got + server.got_n, s.p, s.n);
		server.got_n += s.n;
		tls_consumed(t, s.n);
	}
}

static inline bool server_reset(struct tls_stream *t)
{
	(void)t;
	return br_ssl_server_reset(&server.ctx);
}

static inline size_t chain_load(const char *name)
{
	struct slice text = data_text(name);
	size_t n = 0, from = data_mem.len;

	while (n < 2 && pem_next(&text, "CERTIFICATE", &data_mem, NULL) == 1) {
		server.chain[n].data = (unsigned char *)data_mem.p + from;
		server.chain[n++].data_len = data_mem.len - from;
		from = data_mem.len;
	}
	return n;
}

static inline void server_engine(const char *certificate)
{
	bool rsa = data_cert(certificate).key.type == CERT_KEY_RSA;
	struct slice key = data_block(rsa ? "leaf-rsa.key" : "leaf.key", "PRIVATE KEY");
	br_ssl_engine_context *e = &server.ctx.eng;
	size_t n = chain_load(certificate);

	br_skey_decoder_init(&server.key);
	br_skey_decoder_push(&server.key, key.p, key.n);
	assert_int_equal(br_skey_decoder_last_error(&server.key), 0);
	if (rsa)
		br_ssl_server_init_full_rsa(
			&server.ctx, server.chain, n, br_skey_decoder_get_rsa(&server.key));
	else
		br_ssl_server_init_full_ec(&server.ctx, server.chain, n, BR_KEYTYPE_EC,
			br_skey_decoder_get_ec(&server.key));
	if (server.suites)
		br_ssl_engine_set_suites(e, server.suites, server.suites_n);
	br_ssl_engine_set_buffers_bidi(
		e, server.in, sizeof(server.in), server.out, sizeof(server.out));
	if (!server.cache.vtable)
		br_ssl_session_cache_lru_init(
			&server.cache, server.sessions, sizeof(server.sessions));
	br_ssl_server_set_cache(&server.ctx, &server.cache.vtable);
}

/* --- the client --- */

static struct tls_client client;
static struct tls_peer peer;
static struct tls_roots roots;
static int changes; /* how often the client's owner was told */

static char got[2 * MIB]; /* what the server has sent */
static size_t got_n;
static bool lazy; /* the client's owner leaves bytes where they are */

static inline void client_changed(struct tls_stream *t)
{
	struct slice s;

	changes++;
	while (!lazy && (s = tls_readable(t)).n > 0) {
		s = slice_head(s, sizeof(got) - got_n);
		memcpy(got + got_n, s.p, s.n);
		got_n += s.n;
		tls_consumed(t, s.n);
	}
}

/* --- both --- */

#define run_until(what) RUN_UNTIL(what, assert_true)

static inline void pair_make(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
}

static inline void trust(const char *ca)
{
	char mem[200];
	struct buf why;

	buf_over(&why, mem, sizeof(mem));
	tls_roots_drop(&roots);
	assert_int_equal(tls_roots_load(&roots, data_text(ca), &why), 0);
}

/* A client that wants to reach host and trusts roots, on a socket whose other end is given. */
static inline int client_connect(const char *host)
{
	int fd[2];

	pair_make(fd);
	if (peer.host != host)
		peer = (struct tls_peer){ .host = host, .roots = &roots };
	got_n = 0;
	changes = 0;
	lazy = false;
	client.stream.changed = client_changed;
	assert_int_equal(tls_client_start(&client, fd[0], &peer), 0);
	return fd[1];
}

/* Was the handshake of the open client the short one of a session kept from before? */
static inline bool client_resumed(void)
{
	return client.state && client.peer && client.state->x509.verify.nth == 0;
}

static inline void server_start(int fd, const char *certificate)
{
	server.stream.changed = server_changed;
	server.stream.reset = server_reset;
	server.got_n = 0;
	server.lazy = false;
	server_engine(certificate);
	server.stream.engine = &server.ctx.eng;
	assert_int_equal(tls_stream_start(&server.stream, fd), 0);
}

static inline void both_end(void)
{
	tls_client_end(&client);
	tls_stream_end(&server.stream);
}

/* What comes of it when a client that trusts `ca` wants to reach host, which has that certificate.
 */
static inline enum tls_state meet(const char *host, const char *ca, const char *certificate)
{
	trust(ca);
	server_start(client_connect(host), certificate);
	run_until(client.stream.state != TLS_HANDSHAKE);
	return client.stream.state;
}

static inline struct slice failure(void)
{
	static char mem[512];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	tls_client_put_failure(&client, &b);
	assert_false(b.failed);
	return buf_all(&b);
}

#define assert_failure(text) assert_slice(failure(), text)

static inline int tls_test_start(void **state)
{
	(void)state;
	return loop_init();
}

static inline int tls_test_end(void **state)
{
	(void)state;
	both_end();
	peer = (struct tls_peer){ .host = NULL };
	server.suites = NULL;
	buf_reset(&data_mem, true);
	return 0;
}

#define TLS_TEST(name) cmocka_unit_test_teardown(name, tls_test_end)

#endif
