#include "tls/cert_make.h"

#include <errno.h>

#include "base/hash.h"
#include "base/random.h"
#include "tls/der_put.h"
#include "tls/oid.h"

enum {
	SERIAL_SIZE = 16,
	KEY_ID_SIZE = 20, /* RFC 7093 section 2, method 1 */
};

/* What each part is made of. */
struct making {
	const struct cert_draft *draft;
	const struct cert *issuer; /* NULL: none but itself */
	const struct tls_key *signer;
	struct slice point;
	char key_id[KEY_ID_SIZE];
	unsigned char serial[SERIAL_SIZE];
};

void cert_put_dns_name(struct buf *alt_names, struct slice name)
{
	der_put(alt_names, DER_DNS_NAME, name);
}

void cert_put_address(struct buf *alt_names, struct slice address)
{
	der_put(alt_names, DER_IP_ADDRESS, address);
}

/* --- parts --- */

/* AlgorithmIdentifier ::= SEQUENCE { algorithm, parameters }; RSA's has NULL, ECDSA's nothing. */
static void put_algorithm(struct buf *b, const struct making *m)
{
	size_t at = der_open(b, DER_SEQUENCE);

	if (m->signer->type == CERT_KEY_RSA) {
		der_put(b, DER_OID, LIT(OID_RSA_SHA256));
		der_put(b, DER_NULL, (struct slice){ 0 });
	} else {
		der_put(b, DER_OID, LIT(OID_ECDSA_SHA256));
	}
	der_close(b, at);
}

/* Name ::= SEQUENCE OF SET OF SEQUENCE { type, value }, one of each */
static void put_name(struct buf *b, struct slice common_name)
{
	size_t names = der_open(b, DER_SEQUENCE), set = der_open(b, DER_SET),
	       one = der_open(b, DER_SEQUENCE);

	der_put(b, DER_OID, LIT(OID_COMMON_NAME));
	der_put(b, DER_UTF8_STRING, common_name);
	der_close(b, one);
	der_close(b, set);
	der_close(b, names);
}

static void put_issuer(struct buf *b, const struct making *m)
{
	if (m->issuer)
		buf_slice(b, m->issuer->subject);
	else
		put_name(b, m->draft->name);
}

static void put_validity(struct buf *b, const struct cert_draft *draft)
{
	size_t at = der_open(b, DER_SEQUENCE);

	der_put_time(b, draft->not_before);
	der_put_time(b, draft->not_after);
	der_close(b, at);
}

static void put_public_key(struct buf *b, struct slice point)
{
	size_t at = der_open(b, DER_SEQUENCE), algorithm = der_open(b, DER_SEQUENCE);

	der_put(b, DER_OID, LIT(OID_EC));
	der_put(b, DER_OID, LIT(OID_P256));
	der_close(b, algorithm);
	der_put_bits(b, point);
	der_close(b, at);
}

/* --- extensions --- */

struct extension {
	size_t outer, value;
};

/* Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING } */
static struct extension extension_open(struct buf *b, struct slice id, bool critical)
{
	struct extension e = { .outer = der_open(b, DER_SEQUENCE) };

	der_put(b, DER_OID, id);
	if (critical)
		der_put(b, DER_BOOLEAN, LIT("\xff"));
	e.value = der_open(b, DER_OCTET_STRING);
	return e;
}

static void extension_close(struct buf *b, struct extension e)
{
	der_close(b, e.value);
	der_close(b, e.outer);
}

/* A CA of ours signs servers, no other CAs. */
static void put_constraints(struct buf *b, bool ca)
{
	struct extension e = extension_open(b, LIT(OID_BASIC_CONSTRAINTS), true);
	size_t at = der_open(b, DER_SEQUENCE);

	if (ca) {
		der_put(b, DER_BOOLEAN, LIT("\xff"));
		der_put_unsigned(b, LIT("\0"));
	}
	der_close(b, at);
	extension_close(b, e);
}

/* Bits from the left, behind the count of unused ones: keyCertSign and cRLSign, or
 * digitalSignature. */
static void put_usage(struct buf *b, bool ca)
{
	struct extension e = extension_open(b, LIT(OID_KEY_USAGE), true);

	der_put(b, DER_BIT_STRING, ca ? LIT("\x01\x06") : LIT("\x07\x80"));
	extension_close(b, e);
}

static void put_server_usage(struct buf *b)
{
	struct extension e = extension_open(b, LIT(OID_EXT_KEY_USAGE), false);
	size_t at = der_open(b, DER_SEQUENCE);

	der_put(b, DER_OID, LIT(OID_SERVER_AUTH));
	der_close(b, at);
	extension_close(b, e);
}

static void put_key_id(struct buf *b, const struct making *m)
{
	struct extension e = extension_open(b, LIT(OID_SUBJECT_KEY_ID), false);

	der_put(b, DER_OCTET_STRING, (struct slice){ m->key_id, sizeof(m->key_id) });
	extension_close(b, e);
}

static void put_issuer_key_id(struct buf *b, struct slice key_id)
{
	struct extension e = extension_open(b, LIT(OID_AUTHORITY_KEY_ID), false);
	size_t at = der_open(b, DER_SEQUENCE);

	der_put(b, DER_KEY_ID, key_id);
	der_close(b, at);
	extension_close(b, e);
}

static void put_alt_names(struct buf *b, struct slice names)
{
	struct extension e = extension_open(b, LIT(OID_ALT_NAME), false);

	der_put(b, DER_SEQUENCE, names);
	extension_close(b, e);
}

static void put_extensions(struct buf *b, const struct making *m)
{
	bool ca = m->draft->alt_names.n == 0;
	size_t outer = der_open(b, DER_EXTENSIONS), all = der_open(b, DER_SEQUENCE);

	put_constraints(b, ca);
	put_usage(b, ca);
	if (!ca)
		put_server_usage(b);
	put_key_id(b, m);
	if (m->issuer && m->issuer->key_id.n > 0)
		put_issuer_key_id(b, m->issuer->key_id);
	if (!ca)
		put_alt_names(b, m->draft->alt_names);
	der_close(b, all);
	der_close(b, outer);
}

/* --- the certificate --- */

static void put_body(struct buf *b, const struct making *m)
{
	size_t body = der_open(b, DER_SEQUENCE), version = der_open(b, DER_VERSION);

	der_put_unsigned(b, LIT("\2"));
	der_close(b, version);
	der_put_unsigned(b, (struct slice){ (const char *)m->serial, sizeof(m->serial) });
	put_algorithm(b, m);
	put_issuer(b, m);
	put_validity(b, m->draft);
	put_name(b, m->draft->name);
	put_public_key(b, m->point);
	put_extensions(b, m);
	der_close(b, body);
}

/* A number of always the same length, which nobody can foresee (RFC 5280 section 4.1.2.2). */
static int serial_make(struct making *m)
{
	int r = random_key(m->serial, sizeof(m->serial));

	m->serial[0] = (m->serial[0] & 0x3f) | 0x40;
	return r;
}

/* What stands in b from `from` on is the body. False: the key is of no use. */
static bool put_signature(struct buf *b, size_t from, const struct making *m)
{
	unsigned char hash[HASH_SIZE], mem[TLS_KEY_SIGNATURE_MAX];
	struct slice signature;

	hash_sha256(buf_since(b, from), hash);
	signature = tls_key_sign(m->signer, hash, mem);
	put_algorithm(b, m);
	der_put_bits(b, signature);
	return signature.n > 0;
}

int cert_make(struct buf *der, const struct cert_draft *draft, const struct tls_key *key,
	const struct cert *issuer, const struct tls_key *signer)
{
	unsigned char point[TLS_KEY_POINT_MAX], hash[HASH_SIZE];
	struct making m = { .draft = draft, .issuer = issuer, .signer = signer };
	size_t whole, body;

	m.point = tls_key_point(key, point);
	hash_sha256(m.point, hash);
	memcpy(m.key_id, hash, sizeof(m.key_id));
	if (serial_make(&m) < 0)
		return -EAGAIN;
	whole = der_open(der, DER_SEQUENCE);
	body = der->len;
	put_body(der, &m);
	if (der->failed)
		return -E2BIG;
	if (!put_signature(der, body, &m))
		return -EINVAL;
	der_close(der, whole);
	return der->failed ? -E2BIG : 0;
}
