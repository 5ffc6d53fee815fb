/*
 * Our certificates' keys and bytes as BearSSL has them. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_PKEY_H
#define TLS_PKEY_H

#include <bearssl.h>

#include "tls/cert.h"

/* BearSSL takes what it only reads through pointers that are not const. */
static inline unsigned char *pkey_bytes(struct slice s)
{
	return (unsigned char *)(uintptr_t)s.p;
}

/* k is RSA or EC; the bytes stay where they are. */
static inline void pkey_make(br_x509_pkey *out, const struct cert_key *k)
{
	if (k->type == CERT_KEY_RSA) {
		out->key_type = BR_KEYTYPE_RSA;
		out->key.rsa =
			(br_rsa_public_key){ pkey_bytes(k->n), k->n.n, pkey_bytes(k->e), k->e.n };
	} else {
		out->key_type = BR_KEYTYPE_EC;
		out->key.ec = (br_ec_public_key){ k->curve, pkey_bytes(k->point), k->point.n };
	}
}

#endif
