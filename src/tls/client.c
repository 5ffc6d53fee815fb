#include "tls/client.h"

#include <errno.h>
#include <unistd.h>

#include "base/secret.h"
#include "bounds.h"
#include "tls/client_state.h"
#include "tls/engine.h"

_Static_assert(sizeof(br_ssl_session_parameters) <= TLS_SESSION_SIZE, "a session fits");

static struct tls_client *client_of(struct tls_stream *t)
{
	return container_of(t, struct tls_client, stream);
}

/* --- sessions --- */

static bool session_offer(struct tls_client *c)
{
	br_ssl_session_parameters session;

	if (!c->peer || !c->peer->resumable)
		return false;
	memcpy(&session, c->peer->session, sizeof(session));
	br_ssl_engine_set_session_parameters(&c->state->engine.eng, &session);
	secret_wipe(&session, sizeof(session));
	return true;
}

/* The handshake is done, so the peer has proven who it is, now or when the session began. */
static void session_keep(struct tls_stream *t)
{
	struct tls_client *c = client_of(t);
	br_ssl_session_parameters session;

	c->opened = true;
	if (!c->peer)
		return;
	br_ssl_engine_get_session_parameters(&c->state->engine.eng, &session);
	c->peer->resumable = session.session_id_len > 0;
	memcpy(c->peer->session, &session, sizeof(session));
	secret_wipe(&session, sizeof(session));
}

static void session_drop(struct tls_peer *peer)
{
	peer->resumable = false;
	secret_wipe(peer->session, sizeof(peer->session));
}

/* --- start and end --- */

/* SNI is for names (RFC 6066 section 3). */
static bool client_reset(struct tls_stream *t)
{
	struct tls_client *c = client_of(t);
	unsigned char address[16];
	const char *name = verify_address(c->host, address) ? NULL : c->host;

	return br_ssl_client_reset(&c->state->engine, name, session_offer(c));
}

/* 0, or -ENOMEM. */
static int client_open(struct tls_client *c)
{
	if (!buf_ready(&c->cert, CERT_MAX))
		return -ENOMEM;
	c->state = engine_open(&c->mem, sizeof(*c->state));
	if (!c->state)
		return -ENOMEM;
	br_ssl_engine_set_x509(&c->state->engine.eng, &c->state->x509.vtable);
	return 0;
}

int client_start(struct tls_client *c, int fd, const char *host, struct tls_peer *peer,
	void (*x509_setup)(struct tls_client *c))
{
	size_t n = strlen(host);
	int r = n == 0 || n > TLS_HOST_MAX ? -EINVAL : client_open(c);

	if (r < 0) {
		close(fd);
		return r;
	}
	c->host = host;
	c->peer = peer;
	c->opened = false;
	x509_setup(c);
	c->stream.engine = &c->state->engine.eng;
	c->stream.reset = client_reset;
	c->stream.opened = session_keep;
	r = tls_stream_start(&c->stream, fd);
	if (r < 0)
		tls_client_end(c);
	return r;
}

static void x509_verified(struct tls_client *c)
{
	verify_setup(&c->state->x509.verify, c->peer->roots, c->host, &c->cert);
}

int tls_client_start(struct tls_client *c, int fd, struct tls_peer *peer)
{
	return client_start(c, fd, peer->host, peer, x509_verified);
}

void tls_client_end(struct tls_client *c)
{
	if (!c->state)
		return;
	if (c->peer && !c->opened && c->stream.state == TLS_FAILED)
		session_drop(c->peer); /* the server may have stumbled over it */
	tls_stream_end(&c->stream);
	buf_reset(&c->mem, false);
	buf_reset(&c->cert, false);
	c->state = NULL;
	c->peer = NULL;
}
