/*
 * What a server proves to be: a certificate with its chain, and the key that fits it. For tls/ and
 * its tests alone; tls/server.h is for users.
 */
#ifndef TLS_IDENTITY_H
#define TLS_IDENTITY_H

#include "tls/key.h"
#include "tls/roots.h"

struct identity {
	struct tls_roots chain; /* the server's certificate first */
	int sent;               /* so many of them go to clients: without the root itself */
	struct tls_key key;
	unsigned handshakes; /* that may still need the key */
};

/*
 * From PEM files. i is zeroed or was dropped. 0, or -EINVAL with a sentence about the variable, the
 * file and what is wrong in *why; i is then as if dropped.
 */
int identity_read(struct identity *i, const char *cert_path, const char *key_path, struct buf *why)
	__attribute__((warn_unused_result));
void identity_drop(struct identity *i);

/* The certificate people have to trust: one that is its own issuer; NULL: not among them. */
const struct cert *identity_root(const struct identity *i);

#endif
