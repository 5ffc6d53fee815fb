/*
 * What clients have while they are connected. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_CLIENT_STATE_H
#define TLS_CLIENT_STATE_H

#include <bearssl.h>

#include "tls/client.h"
#include "tls/verify.h"

/* Takes any certificate with a key that can be used, see tls/unverified.h. */
struct blind {
	const br_x509_class *vtable; /* first */
	struct buf *cert;            /* the first of the chain */
	int nth;
	br_x509_pkey key;
};

struct client_state {
	br_ssl_client_context engine; /* first */
	union {
		const br_x509_class *vtable; /* what all begin with */
		struct verify verify;
		struct blind blind;
		br_x509_knownkey_context known;
	} x509;
};

/* x509_setup fills in c->state->x509, for c->host. As tls_client_start. */
int client_start(struct tls_client *c, int fd, const char *host, struct tls_peer *peer,
	void (*x509_setup)(struct tls_client *c)) __attribute__((warn_unused_result));

#endif
