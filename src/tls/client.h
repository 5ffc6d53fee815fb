/*
 * TLS 1.2 connections to a server whose certificate leads to one of the roots and bears the host's
 * name. No function of this header makes another kind; `sandstorm-mcp ca` has tls/unverified.h,
 * `health` tls/pinned.h.
 */
#ifndef TLS_CLIENT_H
#define TLS_CLIENT_H

#include "base/buf.h"
#include "tls/roots.h"
#include "tls/stream.h"

enum {
	TLS_HOST_MAX = 255,   /* bytes of a name, as BearSSL has room for in SNI */
	TLS_SESSION_SIZE = 96 /* what BearSSL keeps of a session fits */
};

/*
 * Whom to reach and whom to trust, with the one session kept for it: a session never serves another
 * host or other roots. The owner fills in host and roots once and leaves it in place.
 */
struct tls_peer {
	const char *host;              /* DNS name, or IP literal without brackets */
	const struct tls_roots *roots; /* not NULL: without roots no connection is opened */

	/* private to client.c */
	bool resumable;
	unsigned char session[TLS_SESSION_SIZE];
};

struct client_state;

/*
 * A slot for one connection after another, zeroed at first and never moved. Its buffers are address
 * space that opens on demand and goes back when a connection ends.
 */
struct tls_client {
	struct tls_stream stream; /* the owner sets stream.changed */

	/* private to client.c */
	struct tls_peer *peer; /* NULL: an unverified or a pinned connection */
	const char *host;
	const struct cert *pin;     /* of a pinned one */
	struct client_state *state; /* the first thing in mem; NULL: not connected */
	bool opened;                /* the handshake was finished */
	struct buf mem;
	struct buf cert; /* the certificate that is arriving */
};

/*
 * fd is connected and non-blocking; it is c's from now on, also after an error. 0 or -errno.
 */
int tls_client_start(struct tls_client *c, int fd, struct tls_peer *peer)
	__attribute__((warn_unused_result));
/* In whatever state: no changed() comes any more, memory goes back. Twice is fine. */
void tls_client_end(struct tls_client *c);

/*
 * Why the stream is TLS_FAILED, as a sentence without its period; one that has to do with the
 * certificate begins with CERTIFICATE_VERIFY_FAILED. To be asked before tls_client_end.
 */
void tls_client_put_failure(const struct tls_client *c, struct buf *b);
/* That sentence where there are no roots. */
extern const char tls_no_roots[];

#endif
