#include "base/hash.h"

#include <bearssl.h>

void hash_sha256(struct slice data, unsigned char out[HASH_SIZE])
{
	br_sha256_context c;

	br_sha256_init(&c);
	br_sha256_update(&c, data.p, data.n);
	br_sha256_out(&c, out);
}

void hash_hmac(struct slice key, struct slice data, unsigned char out[HASH_SIZE])
{
	br_hmac_key_context k;
	br_hmac_context c;

	br_hmac_key_init(&k, &br_sha256_vtable, key.p, key.n);
	br_hmac_init(&c, &k, 0);
	br_hmac_update(&c, data.p, data.n);
	br_hmac_out(&c, out);
}
