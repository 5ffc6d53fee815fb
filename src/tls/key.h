/*
 * Private keys: RSA of 2048 to 4096 bits, or EC on P-256 or P-384, as servers and CAs have them.
 */
#ifndef TLS_KEY_H
#define TLS_KEY_H

#include "tls/cert.h"

enum {
	TLS_KEY_RSA_MIN = 2048, /* bits; clients of today refuse less */
	TLS_KEY_RSA_MAX = 4096,
	TLS_KEY_FACTOR_MAX = TLS_KEY_RSA_MAX / 8 / 2 + 4, /* bytes, as the engine has room for */
	TLS_KEY_SIGNATURE_MAX = TLS_KEY_RSA_MAX / 8,
	TLS_KEY_POINT_MAX = 97,
};

/* The slices point into mem: a key stays where it was made. All numbers are big-endian. */
struct tls_key {
	enum cert_key_type type; /* CERT_KEY_OTHER: there is none */
	int curve;               /* EC: as in struct cert_key */
	struct slice x;          /* EC: of the curve's length */
	unsigned bits;           /* RSA: of the modulus */
	struct slice p, q, dp, dq, iq;
	unsigned char mem[5 * TLS_KEY_FACTOR_MAX];
};

/*
 * PKCS #8 (RFC 5958), PKCS #1 (RFC 8017 appendix A.1.2) or SEC 1 (RFC 5915), not encrypted. 0;
 * -EBADMSG: none of them; -ENOTSUP: a kind or size that is none of ours. Whether the numbers belong
 * together only tls_key_fits tells.
 */
int tls_key_parse(struct tls_key *k, struct slice der) __attribute__((warn_unused_result));
/*
 * The first key of a PEM text. 0, or -EINVAL with what goes behind a file's name in *why: "holds no
 * private key".
 */
int tls_key_read(struct tls_key *k, struct slice pem, struct buf *why)
	__attribute__((warn_unused_result));
void tls_key_wipe(struct tls_key *k);

/* --- key_use.c --- */

/* A new one on P-256. 0 or -EAGAIN: the kernel has no random numbers yet. */
int tls_key_make(struct tls_key *k) __attribute__((warn_unused_result));
/* The public point of an EC key, as certificates have it; mem has TLS_KEY_POINT_MAX bytes. */
struct slice tls_key_point(const struct tls_key *k, unsigned char *mem);
/* A PEM block with PKCS #8, of a key on P-256. */
void tls_key_put(const struct tls_key *k, struct buf *pem);
/*
 * Signs a SHA-256 as certificates have it, PKCS #1 or ECDSA; out has TLS_KEY_SIGNATURE_MAX bytes.
 * Empty: the key's numbers do not belong together.
 */
struct slice tls_key_sign(
	const struct tls_key *k, const unsigned char sha256[32], unsigned char *out);
/* Does what it signs verify with that public key? */
bool tls_key_fits(const struct tls_key *k, const struct cert_key *public);

#endif
