/*
 * What there is to know of a certificate (X.509, RFC 5280) without verifying it: BearSSL verifies,
 * this reads dates, names and keys for anchors and for people. All slices borrow the DER bytes.
 */
#ifndef TLS_CERT_H
#define TLS_CERT_H

#include <stdint.h>

#include "base/buf.h"

enum cert_key_type { CERT_KEY_OTHER, CERT_KEY_RSA, CERT_KEY_EC };

struct cert_key {
	enum cert_key_type type;
	int curve;          /* EC: BearSSL's number, which is the TLS one (RFC 8422) */
	struct slice point; /* EC: uncompressed, of the curve's length */
	struct slice n, e;  /* RSA: modulus and exponent without leading zeros */
};

struct cert {
	struct slice der;    /* the certificate itself, nothing behind it */
	struct slice issuer; /* names as whole elements */
	struct slice subject;
	struct slice spki;             /* SubjectPublicKeyInfo as a whole element */
	struct slice alt_names;        /* GeneralNames, without tag and length; empty: none */
	int64_t not_before, not_after; /* seconds since 1970 */
	bool ca;                       /* basicConstraints says so */
	struct slice key_id;           /* subjectKeyIdentifier; empty: none */
	struct cert_key key;
};

/*
 * 0, or -EBADMSG: not one whole certificate. A key of a kind or size that is none of ours is
 * CERT_KEY_OTHER.
 */
int cert_parse(struct cert *c, struct slice der) __attribute__((warn_unused_result));

/* Is address (4 or 16 bytes) one of the iPAddress names, byte for byte (RFC 5280, 4.2.1.6)? */
bool cert_has_address(const struct cert *c, struct slice address);

/* --- cert_text.c --- */

/* "CN=sandstorm CA, O=Example": attributes in their order, made printable. */
void cert_put_subject(struct buf *b, const struct cert *c);
/* "2026-01-31T12:00:00Z to 2036-01-31T12:00:00Z" */
void cert_put_validity(struct buf *b, const struct cert *c);
/* The SHA-256 of the certificate, in hex. */
void cert_put_fingerprint(struct buf *b, const struct cert *c);
/* Lines with subject and validity, and the SHA-256 of the certificate and of its
 * SubjectPublicKeyInfo. */
void cert_put(struct buf *b, const struct cert *c);

#endif
