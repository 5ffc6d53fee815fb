/*
 * Makes certificates (X.509 version 3, RFC 5280): a private CA, and server certificates signed by
 * one.
 */
#ifndef TLS_CERT_MAKE_H
#define TLS_CERT_MAKE_H

#include "tls/key.h"

struct cert_draft {
	struct slice name;      /* the subject's common name, UTF-8, at most CERT_NAME_MAX bytes */
	struct slice alt_names; /* as struct cert has them: a server's; empty: a CA's */
	int64_t not_before, not_after;
};

/* One more name in alt_names: a DNS name, or an address of 4 or 16 bytes. */
void cert_put_dns_name(struct buf *alt_names, struct slice name);
void cert_put_address(struct buf *alt_names, struct slice address);

/*
 * A certificate for the key, which is on P-256, as DER. issuer: the signer's certificate, NULL: the
 * certificate is its own. 0, -EAGAIN: no random numbers yet for the serial; -EINVAL: the signer's
 * key is of no use; -E2BIG: der is full.
 */
int cert_make(struct buf *der, const struct cert_draft *draft, const struct tls_key *key,
	const struct cert *issuer, const struct tls_key *signer)
	__attribute__((warn_unused_result));

#endif
