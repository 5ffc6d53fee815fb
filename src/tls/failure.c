/* Why a connection could not be made, for people. */
#include "base/clock.h"
#include "tls/client_state.h"

const char tls_no_roots[] = "CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set";

enum {
	ALERT = BR_ERR_RECV_FATAL_ALERT,
	ALERT_HANDSHAKE_FAILURE = 40, /* RFC 5246 section 7.2 */
	ALERT_PROTOCOL_VERSION = 70,
};

/* --- certificates --- */

static void put_not_signed(const struct tls_client *c, struct buf *b)
{
	if (c->peer->roots->built_in)
		buf_puts(b, "not signed by the CA this program was built with; SANDSTORM_CA can "
			    "name another");
	else
		buf_puts(b, "not signed by the CA in SANDSTORM_CA");
}

static void put_not_named(const struct tls_client *c, struct buf *b)
{
	buf_printf(b, "the certificate does not name %s; start the master with --tls-san %s",
		c->host, c->host);
}

static void put_not_now(const struct tls_client *c, struct buf *b)
{
	const struct verify *v = &c->state->x509.verify;

	buf_puts(b, "not valid at this host's date ");
	clock_put_iso(b, v->now);
	if (!v->dated)
		return;
	buf_puts(b, " (valid ");
	clock_put_iso(b, v->not_before);
	buf_puts(b, " to ");
	clock_put_iso(b, v->not_after);
	buf_puts(b, ")");
}

static const struct cause {
	int code;
	void (*put)(const struct tls_client *c, struct buf *b);
} causes[] = {
	{ BR_ERR_X509_NOT_TRUSTED, put_not_signed },
	{ BR_ERR_X509_BAD_SIGNATURE, put_not_signed },
	{ BR_ERR_X509_DN_MISMATCH, put_not_signed },
	{ BR_ERR_X509_NOT_CA, put_not_signed },
	{ BR_ERR_X509_BAD_SERVER_NAME, put_not_named },
	{ BR_ERR_X509_EXPIRED, put_not_now },
	{ BR_ERR_X509_TIME_UNKNOWN, put_not_now },
	{ 0 },
};

static void put_certificate(const struct tls_client *c, struct buf *b)
{
	const struct cause *cause = causes;

	buf_puts(b, "CERTIFICATE_VERIFY_FAILED: ");
	while (cause->code && cause->code != c->stream.error)
		cause++;
	if (cause->code)
		cause->put(c, b);
	else
		buf_printf(b, "unsupported certificate (code %d)", c->stream.error);
}

/* --- all else --- */

/* Text instead of a record: an HTTP server says HTTP/1.1 400, or sends a page. */
static bool answers_in_text(const struct tls_stream *t)
{
	for (size_t i = 0; i < t->first_n; i++)
		if (t->first[i] < ' ' && t->first[i] != '\r' && t->first[i] != '\n')
			return false;
	return t->first_n > 0;
}

static const struct {
	int code;
	const char *text;
} texts[] = {
	{ BR_ERR_UNSUPPORTED_VERSION, "the master offers no TLS 1.2" },
	{ ALERT + ALERT_PROTOCOL_VERSION, "TLS: the master refused TLS 1.2" },
	{ ALERT + ALERT_HANDSHAKE_FAILURE, "TLS error 296: the master takes none of our cipher "
					   "suites (ECDHE with AES-GCM or ChaCha20-Poly1305)" },
	{ 0 },
};

static void put_engine(const struct tls_stream *t, struct buf *b)
{
	for (int i = 0; texts[i].code; i++)
		if (texts[i].code == t->error) {
			buf_puts(b, texts[i].text);
			return;
		}
	buf_printf(b, "TLS error %d", t->error);
}

static bool is_certificate(int code)
{
	return code >= BR_ERR_X509_OK && code <= BR_ERR_X509_NOT_TRUSTED;
}

void tls_client_put_failure(const struct tls_client *c, struct buf *b)
{
	const struct tls_stream *t = &c->stream;

	if (t->error < 0)
		buf_printf(b, "the connection broke off%s: %s",
			c->opened ? "" : " in the TLS handshake", strerror(-t->error));
	else if (is_certificate(t->error))
		put_certificate(c, b);
	else if (!c->opened && answers_in_text(t))
		buf_puts(b, "not a TLS server");
	else
		put_engine(t, b);
}
