/*
 * The TLS 1.2 connections of a server, and what it proves itself with: one certificate with its
 * chain and key for all names (SNI is ignored), no client certificates, sessions kept for short
 * handshakes. What a connection needs of memory is opened when it starts and wiped when it ends.
 */
#ifndef TLS_SERVER_H
#define TLS_SERVER_H

#include "base/buf.h"
#include "tls/cert.h"
#include "tls/stream.h"

/*
 * Certificate and key from PEM files, for handshakes that begin from now on; those that have begun
 * go on with what they know. Sessions are forgotten. 0, or -EINVAL with a sentence in *why: nothing
 * has changed then; -EBUSY: handshakes still use what an earlier call replaced, try again in a
 * second.
 */
int tls_server_load(const char *cert_path, const char *key_path, struct buf *why)
	__attribute__((warn_unused_result));
/* The certificate in use; NULL: none was loaded. */
const struct cert *tls_server_cert(void);
/* The certificate that clients have to trust, where the chain in use has it; else NULL. */
const struct cert *tls_server_root(void);

struct identity;
struct server_state;

/* A slot for one connection after another, zeroed at first and never moved. */
struct tls_server {
	struct tls_stream stream; /* the owner sets stream.changed */

	/* private to server.c */
	struct identity *identity;  /* while the handshake needs it */
	struct server_state *state; /* the first thing in mem; NULL: not connected */
	struct buf mem;
};

/* fd is connected and non-blocking; it is s's from now on, also after an error. 0 or -errno. */
int tls_server_start(struct tls_server *s, int fd) __attribute__((warn_unused_result));
/* In whatever state: no changed() comes any more, memory goes back. Twice is fine. */
void tls_server_end(struct tls_server *s);
/* The same, with the last bytes said; gives the socket, which stays open and is the caller's. */
int tls_server_leave(struct tls_server *s) __attribute__((warn_unused_result));

/* In a handshake: is the next step ours? */
bool tls_server_owes(const struct tls_server *s);
/* Is what the peer began with an HTTP request in plain text? */
bool tls_server_met_http(const struct tls_server *s);
/* Why the stream is TLS_FAILED with error > 0, as a sentence without its period. */
void tls_server_put_failure(const struct tls_server *s, struct buf *b);

#endif
