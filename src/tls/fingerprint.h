/*
 * SHA-256 of a certificate, as people hand it on.
 */
#ifndef TLS_FINGERPRINT_H
#define TLS_FINGERPRINT_H

#include "base/hash.h"
#include "tls/cert.h"

/*
 * 64 hex digits in either case, with colons between the bytes or without, or base64 in either
 * alphabet, padded or not; "sha256:" may stand before all of them.
 */
bool fingerprint_parse(struct slice s, unsigned char out[HASH_SIZE]);
/* Is it that of the whole certificate, or of its SubjectPublicKeyInfo? */
bool fingerprint_is_of(const unsigned char fingerprint[HASH_SIZE], const struct cert *c);

#endif
