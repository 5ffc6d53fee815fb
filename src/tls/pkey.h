/*
 * Our keys and bytes as BearSSL has them. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_PKEY_H
#define TLS_PKEY_H

#include <bearssl.h>

#include "tls/key.h"

/* BearSSL takes what it only reads through pointers that are not const. */
static inline unsigned char *pkey_bytes(struct slice s)
{
	return (unsigned char *)(uintptr_t)s.p;
}

/* The bytes stay where they are, here and below; k is of that type. */
static inline br_rsa_public_key pkey_rsa(const struct cert_key *k)
{
	return (br_rsa_public_key){ pkey_bytes(k->n), k->n.n, pkey_bytes(k->e), k->e.n };
}

static inline br_ec_public_key pkey_ec(const struct cert_key *k)
{
	return (br_ec_public_key){ k->curve, pkey_bytes(k->point), k->point.n };
}

static inline void pkey_make(br_x509_pkey *out, const struct cert_key *k)
{
	if (k->type == CERT_KEY_RSA) {
		out->key_type = BR_KEYTYPE_RSA;
		out->key.rsa = pkey_rsa(k);
	} else {
		out->key_type = BR_KEYTYPE_EC;
		out->key.ec = pkey_ec(k);
	}
}

static inline br_ec_private_key pkey_secret_ec(const struct tls_key *k)
{
	return (br_ec_private_key){ k->curve, pkey_bytes(k->x), k->x.n };
}

static inline br_rsa_private_key pkey_secret_rsa(const struct tls_key *k)
{
	return (br_rsa_private_key){
		.n_bitlen = k->bits,
		.p = pkey_bytes(k->p),
		.plen = k->p.n,
		.q = pkey_bytes(k->q),
		.qlen = k->q.n,
		.dp = pkey_bytes(k->dp),
		.dplen = k->dp.n,
		.dq = pkey_bytes(k->dq),
		.dqlen = k->dq.n,
		.iq = pkey_bytes(k->iq),
		.iqlen = k->iq.n,
	};
}

#endif
