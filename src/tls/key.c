#include "tls/key.h"

#include <errno.h>

#include "base/secret.h"
#include "base/str.h"
#include "bounds.h"
#include "tls/cert_key.h"
#include "tls/der.h"
#include "tls/oid.h"
#include "tls/pem.h"

enum { EC_SIZE_MAX = 48 }; /* browsers know no P-521 */

/* --- numbers --- */

static unsigned bits_of(struct slice number)
{
	unsigned bits = 0;

	for (unsigned top = number.n > 0 ? (unsigned char)number.p[0] : 0; top > 0; top >>= 1)
		bits++;
	return number.n > 0 ? (unsigned)(number.n - 1) * 8 + bits : 0;
}

static bool is_odd(struct slice number)
{
	return number.n > 0 && number.p[number.n - 1] & 1;
}

/* A copy in mem behind `used` bytes, with leading zeros up to n bytes. */
static struct slice number_keep(struct tls_key *k, size_t *used, struct slice number, size_t n)
{
	unsigned char *to = k->mem + *used;

	memset(to, 0, n - number.n);
	memcpy(to + (n - number.n), number.p, number.n);
	*used += n;
	return (struct slice){ (const char *)to, n };
}

/* --- RSA --- */

/* What the engine takes for granted: its buffers have the size that these say. */
static bool rsa_sizes_ok(const struct tls_key *k)
{
	unsigned product = bits_of(k->p) + bits_of(k->q);

	return k->p.n <= TLS_KEY_FACTOR_MAX && k->q.n <= TLS_KEY_FACTOR_MAX &&
	       (product == k->bits || product == k->bits + 1) && is_odd(k->p) && is_odd(k->q) &&
	       k->dp.n <= k->p.n && k->dq.n <= k->q.n && k->iq.n <= k->p.n;
}

/* RSAPrivateKey ::= SEQUENCE { version, n, e, d, p, q, dp, dq, iq }, version taken already */
static int rsa_parse(struct tls_key *k, struct slice in)
{
	struct slice n, skipped;
	size_t used = 0;

	if (!der_take_unsigned(&in, &n) || !der_take_unsigned(&in, &skipped) ||
		!der_take_unsigned(&in, &skipped) || !der_take_unsigned(&in, &k->p) ||
		!der_take_unsigned(&in, &k->q) || !der_take_unsigned(&in, &k->dp) ||
		!der_take_unsigned(&in, &k->dq) || !der_take_unsigned(&in, &k->iq) || in.n > 0)
		return -EBADMSG;
	k->bits = bits_of(n);
	if (k->bits < TLS_KEY_RSA_MIN || k->bits > TLS_KEY_RSA_MAX)
		return -ENOTSUP;
	if (!rsa_sizes_ok(k))
		return -EBADMSG;
	k->p = number_keep(k, &used, k->p, k->p.n);
	k->q = number_keep(k, &used, k->q, k->q.n);
	k->dp = number_keep(k, &used, k->dp, k->dp.n);
	k->dq = number_keep(k, &used, k->dq, k->dq.n);
	k->iq = number_keep(k, &used, k->iq, k->iq.n);
	k->type = CERT_KEY_RSA;
	return 0;
}

/* --- EC --- */

/*
 * ECPrivateKey ::= SEQUENCE { version, privateKey OCTET STRING, parameters [0], publicKey [1] },
 * version taken already; the curve may be known from around it.
 */
static int ec_parse(struct tls_key *k, struct slice in, int curve)
{
	struct slice x, parameters, oid, skipped;
	size_t size, used = 0;

	if (!der_take(&in, DER_OCTET_STRING, &x))
		return -EBADMSG;
	if (der_take(&in, DER_CURVE, &parameters)) {
		if (!der_take(&parameters, DER_OID, &oid) ||
			(curve && curve != cert_key_curve(oid)))
			return -EBADMSG;
		curve = cert_key_curve(oid);
	}
	der_take(&in, DER_PUBLIC_POINT, &skipped);
	size = cert_key_size(curve);
	if (size == 0 || size > EC_SIZE_MAX)
		return -ENOTSUP;
	while (x.n > size && x.p[0] == 0)
		x = slice_from(x, 1);
	if (in.n > 0 || x.n > size || x.n == 0)
		return -EBADMSG;
	k->x = number_keep(k, &used, x, size);
	k->curve = curve;
	k->type = CERT_KEY_EC;
	return 0;
}

/* --- forms --- */

static bool version_take(struct slice *in, char version)
{
	struct slice value, rest = *in;

	if (!der_take(&rest, DER_INTEGER, &value) || value.n != 1 || value.p[0] != version)
		return false;
	*in = rest;
	return true;
}

/* The sequence that an algorithm has its key in. */
static int inner_parse(struct tls_key *k, struct slice in, bool rsa, int curve)
{
	struct slice body;

	if (!der_take(&in, DER_SEQUENCE, &body) || in.n > 0 || !version_take(&body, rsa ? 0 : 1))
		return -EBADMSG;
	return rsa ? rsa_parse(k, body) : ec_parse(k, body, curve);
}

/* PrivateKeyInfo behind its version: SEQUENCE { algorithm, parameters }, OCTET STRING, ... */
static int pkcs8_parse(struct tls_key *k, struct slice algorithm, struct slice in)
{
	struct slice oid, curve, inner;

	if (!der_take(&algorithm, DER_OID, &oid) || !der_take(&in, DER_OCTET_STRING, &inner))
		return -EBADMSG;
	if (slice_eq(oid, LIT(OID_RSA)))
		return inner_parse(k, inner, true, 0);
	if (!slice_eq(oid, LIT(OID_EC)) || !der_take(&algorithm, DER_OID, &curve) ||
		!cert_key_curve(curve))
		return -ENOTSUP;
	return inner_parse(k, inner, false, cert_key_curve(curve));
}

/* All forms are a sequence that begins with a small version. */
static int any_parse(struct tls_key *k, struct slice der)
{
	struct slice body, algorithm;

	if (!der_take(&der, DER_SEQUENCE, &body) || der.n > 0)
		return -EBADMSG;
	if (version_take(&body, 1)) {
		if (der_take(&body, DER_SEQUENCE, &algorithm))
			return pkcs8_parse(k, algorithm, body);
		return ec_parse(k, body, 0);
	}
	if (!version_take(&body, 0))
		return -EBADMSG;
	if (der_take(&body, DER_SEQUENCE, &algorithm))
		return pkcs8_parse(k, algorithm, body);
	return rsa_parse(k, body);
}

int tls_key_parse(struct tls_key *k, struct slice der)
{
	int r;

	tls_key_wipe(k);
	r = any_parse(k, der);
	if (r < 0)
		tls_key_wipe(k);
	return r;
}

void tls_key_wipe(struct tls_key *k)
{
	secret_wipe(k, sizeof(*k));
}

/* --- PEM --- */

/* In a form of its own, or as OpenSSL's old way has it (RFC 1421 section 4.6.1.1). */
static bool is_encrypted(struct slice pem)
{
	while (pem.n > 0) {
		struct slice line = str_trim(str_split(&pem, '\n'));

		if (slice_is(line, "-----BEGIN ENCRYPTED PRIVATE KEY-----") ||
			slice_is(line, "Proc-Type: 4,ENCRYPTED"))
			return true;
	}
	return false;
}

/* 1, with the DER in der; 0: no such block; or -errno. */
static int block_find(struct slice pem, struct buf *der)
{
	static const char *const labels[] = { "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY" };
	int r = 0;

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels) && r == 0; i++) {
		struct slice text = pem;

		r = pem_next(&text, labels[i], der, NULL);
	}
	return r;
}

static const char *read_failure(struct slice pem, int found, int parsed)
{
	if (found <= 0 && is_encrypted(pem))
		return "is encrypted; a copy without passphrase comes from: openssl pkey -in OLD "
		       "-out NEW";
	if (found == 0)
		return "holds no private key (no line -----BEGIN PRIVATE KEY-----)";
	if (found < 0)
		return "has a private key that is no whole PEM block";
	if (parsed == -ENOTSUP)
		return "has a key that is neither RSA (2048 to 4096 bits) nor EC (P-256, P-384)";
	return "has a private key that cannot be decoded";
}

int tls_key_read(struct tls_key *k, struct slice pem, struct buf *why)
{
	char mem[KEY_DER_MAX];
	struct buf der;
	int found, r = -EINVAL;

	tls_key_wipe(k);
	buf_over(&der, mem, sizeof(mem));
	found = block_find(pem, &der);
	if (found == 1)
		r = tls_key_parse(k, buf_all(&der));
	secret_wipe(mem, sizeof(mem));
	if (r == 0)
		return 0;
	buf_puts(why, read_failure(pem, found, r));
	return -EINVAL;
}
