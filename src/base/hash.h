/*
 * SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). BearSSL stands behind them.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/slice.h"

enum {
	HASH_SIZE = 32,
	HASH_TEXT_SIZE = 43, /* in base64url */
};

void hash_sha256(struct slice data, unsigned char out[HASH_SIZE]);
void hash_hmac(struct slice key, struct slice data, unsigned char out[HASH_SIZE]);

#endif
