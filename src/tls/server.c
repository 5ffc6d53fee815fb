#include "tls/server.h"

#include <errno.h>
#include <unistd.h>

#include "base/secret.h"
#include "bounds.h"
#include "tls/engine.h"
#include "tls/identity.h"
#include "tls/pkey.h"
#include "tls/sessions.h"

struct server_state {
	br_ssl_server_context engine; /* first */
	br_x509_certificate chain[ROOTS_MAX];
	union {
		br_rsa_private_key rsa;
		br_ec_private_key ec;
	} key;
};

/* --- identities --- */

static struct identity identities[2];
static int current; /* the other one is what handshakes that began before still use */

int tls_server_load(const char *cert_path, const char *key_path, struct buf *why)
{
	struct identity *next = &identities[!current];
	int r;

	if (next->handshakes > 0)
		return -EBUSY;
	identity_drop(next);
	r = identity_read(next, cert_path, key_path, why);
	if (r < 0)
		return r;
	current = !current;
	if (identities[!current].handshakes == 0)
		identity_drop(&identities[!current]);
	sessions_forget();
	return 0;
}

const struct cert *tls_server_cert(void)
{
	const struct tls_roots *chain = &identities[current].chain;

	return chain->count > 0 ? &chain->cert[0] : NULL;
}

const struct cert *tls_server_root(void)
{
	return identity_root(&identities[current]);
}

static void identity_take(struct tls_server *s)
{
	s->identity = &identities[current];
	s->identity->handshakes++;
}

/* The last handshake with a key that was replaced has come to its end: so does the key. */
static void identity_give(struct tls_server *s)
{
	struct identity *i = s->identity;

	if (!i)
		return;
	s->identity = NULL;
	i->handshakes--;
	if (i->handshakes == 0 && i != &identities[current])
		identity_drop(i);
}

/* --- the engine --- */

static void chain_set(struct tls_server *s)
{
	const struct identity *i = s->identity;
	struct server_state *st = s->state;

	for (int n = 0; n < i->sent; n++)
		st->chain[n] = (br_x509_certificate){ pkey_bytes(i->chain.cert[n].der),
			i->chain.cert[n].der.n };
	if (i->key.type == CERT_KEY_RSA) {
		st->key.rsa = pkey_secret_rsa(&i->key);
		br_ssl_server_set_single_rsa(&st->engine, st->chain, (size_t)i->sent, &st->key.rsa,
			BR_KEYTYPE_SIGN, NULL, br_rsa_i31_pkcs1_sign);
	} else {
		st->key.ec = pkey_secret_ec(&i->key);
		br_ssl_server_set_single_ec(&st->engine, st->chain, (size_t)i->sent, &st->key.ec,
			BR_KEYTYPE_SIGN, BR_KEYTYPE_EC, &br_ec_all_m31, br_ecdsa_i31_sign_asn1);
	}
}

static void options_set(struct tls_server *s)
{
	/* who offers protocols by name, as browsers do, is told which one is spoken (RFC 7301) */
	static const char *protocols[] = { "http/1.1" };
	br_ssl_engine_context *e = &s->state->engine.eng;

	if (!engine_is_quick_at_aes()) /* then our order of suites counts, not the client's */
		br_ssl_engine_add_flags(e, BR_OPT_ENFORCE_SERVER_PREFERENCES);
	br_ssl_engine_set_protocol_names(e, protocols, 1);
	br_ssl_server_set_cache(&s->state->engine, sessions_cache());
}

static struct tls_server *server_of(struct tls_stream *t)
{
	return container_of(t, struct tls_server, stream);
}

static bool server_reset(struct tls_stream *t)
{
	return br_ssl_server_reset(&server_of(t)->state->engine);
}

/* A session that an old certificate began is not to be taken up under the new one. */
static void session_check(const struct tls_server *s)
{
	if (s->identity != &identities[current])
		sessions_drop(&s->state->engine.eng);
}

static void server_opened(struct tls_stream *t)
{
	struct tls_server *s = server_of(t);

	session_check(s);
	identity_give(s);
}

/* --- start and end --- */

/*
 * 0, or -ENOMEM. Connections are counted and have their own share of the memory: however much of
 * the rest messages take, a new one finds room.
 */
static int memory_open(struct tls_server *s)
{
	mem_overdraft(true);
	s->state = engine_open(&s->mem, sizeof(*s->state));
	mem_overdraft(false);
	return s->state ? 0 : -ENOMEM;
}

int tls_server_start(struct tls_server *s, int fd)
{
	int r = memory_open(s);

	if (r < 0) {
		close(fd);
		return r;
	}
	identity_take(s);
	chain_set(s);
	options_set(s);
	s->stream.engine = &s->state->engine.eng;
	s->stream.reset = server_reset;
	s->stream.opened = server_opened;
	r = tls_stream_start(&s->stream, fd);
	if (r < 0)
		tls_server_end(s);
	return r;
}

static void memory_close(struct tls_server *s)
{
	identity_give(s);
	s->state = NULL;
	buf_reset(&s->mem, false);
}

void tls_server_end(struct tls_server *s)
{
	if (!s->state)
		return;
	tls_stream_end(&s->stream);
	memory_close(s);
}

int tls_server_leave(struct tls_server *s)
{
	int fd = tls_stream_leave(&s->stream);

	memory_close(s);
	return fd;
}

bool tls_server_owes(const struct tls_server *s)
{
	return s->stream.turn.waits;
}

/* --- failures --- */

bool tls_server_met_http(const struct tls_server *s)
{
	const struct tls_stream *t = &s->stream;

	for (size_t i = 0; i < 3; i++)
		if (i >= t->first_n || t->first[i] < 'A' || t->first[i] > 'Z')
			return false;
	return true;
}

enum {
	ALERT = BR_ERR_RECV_FATAL_ALERT,
	ALERT_HANDSHAKE_FAILURE = 40, /* RFC 5246 section 7.2 */
	ALERT_BAD_CERTIFICATE = 42,
	ALERT_CERTIFICATE_EXPIRED = 45,
	ALERT_CERTIFICATE_UNKNOWN = 46,
	ALERT_UNKNOWN_CA = 48,
	ALERT_PROTOCOL_VERSION = 70,
};

static const struct {
	int code;
	const char *text;
} texts[] = {
	{ ALERT + ALERT_BAD_CERTIFICATE, "the client refuses the certificate" },
	{ ALERT + ALERT_CERTIFICATE_EXPIRED, "the client finds the certificate expired" },
	{ ALERT + ALERT_CERTIFICATE_UNKNOWN, "the client refuses the certificate" },
	{ ALERT + ALERT_UNKNOWN_CA, "the client does not trust the certificate's CA" },
	{ BR_ERR_UNSUPPORTED_VERSION, "the client does not speak TLS 1.2" },
	{ BR_ERR_BAD_VERSION, "the client does not speak TLS" },
	{ BR_ERR_SEND_FATAL_ALERT + ALERT_PROTOCOL_VERSION, "the client does not speak TLS 1.2" },
	{ BR_ERR_SEND_FATAL_ALERT + ALERT_HANDSHAKE_FAILURE,
		"the client has no cipher suite or curve that we have" },
	{ 0 },
};

void tls_server_put_failure(const struct tls_server *s, struct buf *b)
{
	for (int i = 0; texts[i].code; i++)
		if (texts[i].code == s->stream.error) {
			buf_puts(b, texts[i].text);
			return;
		}
	buf_printf(b, "TLS error %d", s->stream.error);
}
