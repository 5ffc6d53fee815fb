/* What is done with private keys: made, written, signed with, held against a public one. */
#include <errno.h>

#include "base/random.h"
#include "base/secret.h"
#include "tls/der_put.h"
#include "tls/oid.h"
#include "tls/pem.h"
#include "tls/pkey.h"

enum { SEED_SIZE = 32, HASH = 32, P256 = 23, EC_DER_MAX = 200 };

int tls_key_make(struct tls_key *k)
{
	unsigned char seed[SEED_SIZE];
	br_hmac_drbg_context random;
	size_t n;

	*k = (struct tls_key){ CERT_KEY_OTHER };
	if (random_key(seed, sizeof(seed)) < 0)
		return -EAGAIN;
	br_hmac_drbg_init(&random, &br_sha256_vtable, seed, sizeof(seed));
	secret_wipe(seed, sizeof(seed));
	n = br_ec_keygen(&random.vtable, &br_ec_all_m31, NULL, k->mem, P256);
	secret_wipe(&random, sizeof(random));
	k->x = (struct slice){ (const char *)k->mem, n };
	k->curve = P256;
	k->type = CERT_KEY_EC;
	return 0;
}

struct slice tls_key_point(const struct tls_key *k, unsigned char *mem)
{
	br_ec_private_key secret = pkey_secret_ec(k);
	size_t n = br_ec_compute_pub(&br_ec_all_m31, NULL, mem, &secret);

	return (struct slice){ (const char *)mem, n };
}

/* ECPrivateKey ::= SEQUENCE { 1, privateKey, publicKey [1] } (RFC 5915) */
static void put_ec(const struct tls_key *k, struct buf *der)
{
	unsigned char mem[TLS_KEY_POINT_MAX];
	size_t body = der_open(der, DER_SEQUENCE), point;

	der_put_unsigned(der, LIT("\1"));
	der_put(der, DER_OCTET_STRING, k->x);
	point = der_open(der, DER_PUBLIC_POINT);
	der_put_bits(der, tls_key_point(k, mem));
	der_close(der, point);
	der_close(der, body);
}

/* PrivateKeyInfo ::= SEQUENCE { 0, SEQUENCE { algorithm, curve }, OCTET STRING } */
static void put_pkcs8(const struct tls_key *k, struct buf *der)
{
	size_t body = der_open(der, DER_SEQUENCE), part;

	der_put_unsigned(der, (struct slice){ 0 });
	part = der_open(der, DER_SEQUENCE);
	der_put(der, DER_OID, LIT(OID_EC));
	der_put(der, DER_OID, LIT(OID_P256));
	der_close(der, part);
	part = der_open(der, DER_OCTET_STRING);
	put_ec(k, der);
	der_close(der, part);
	der_close(der, body);
}

void tls_key_put(const struct tls_key *k, struct buf *pem)
{
	char mem[EC_DER_MAX];
	struct buf der;

	buf_over(&der, mem, sizeof(mem));
	put_pkcs8(k, &der);
	pem_put(pem, "PRIVATE KEY", buf_all(&der));
	secret_wipe(mem, sizeof(mem));
}

/* --- signatures --- */

struct slice tls_key_sign(
	const struct tls_key *k, const unsigned char sha256[HASH], unsigned char *out)
{
	br_rsa_private_key rsa;
	br_ec_private_key ec;
	size_t n = 0;

	if (k->type == CERT_KEY_RSA) {
		rsa = pkey_secret_rsa(k);
		n = (k->bits + 7) / 8;
		if (!br_rsa_i31_pkcs1_sign(BR_HASH_OID_SHA256, sha256, HASH, &rsa, out))
			n = 0;
	} else if (k->type == CERT_KEY_EC) {
		ec = pkey_secret_ec(k);
		n = br_ecdsa_i31_sign_asn1(&br_ec_all_m31, &br_sha256_vtable, sha256, &ec, out);
	}
	return (struct slice){ (const char *)out, n };
}

static bool rsa_verifies(
	const struct cert_key *public, const unsigned char sha256[HASH], struct slice signature)
{
	unsigned char found[HASH];
	br_rsa_public_key key = pkey_rsa(public);

	return br_rsa_i31_pkcs1_vrfy(
		       pkey_bytes(signature), signature.n, BR_HASH_OID_SHA256, HASH, &key, found) &&
	       memcmp(found, sha256, HASH) == 0;
}

bool tls_key_fits(const struct tls_key *k, const struct cert_key *public)
{
	static const unsigned char text[HASH] = { "a text as good as any other one" };
	unsigned char mem[TLS_KEY_SIGNATURE_MAX];
	struct slice signature;
	br_ec_public_key ec;

	if (k->type != public->type || k->type == CERT_KEY_OTHER)
		return false;
	signature = tls_key_sign(k, text, mem);
	if (signature.n == 0)
		return false;
	if (k->type == CERT_KEY_RSA)
		return rsa_verifies(public, text, signature);
	ec = pkey_ec(public);
	return br_ecdsa_i31_vrfy_asn1(
		&br_ec_all_m31, text, HASH, &ec, pkey_bytes(signature), signature.n);
}
