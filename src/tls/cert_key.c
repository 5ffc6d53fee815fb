#include "tls/cert_key.h"

#include "tls/der.h"
#include "tls/oid.h"

/* What the verifying engine takes. */
enum {
	RSA_MIN = 1024 / 8, /* bytes of the modulus */
	RSA_MAX = 4096 / 8,
	RSA_EXPONENT_MAX = 8,
	UNCOMPRESSED = 4, /* first byte of a point (SEC 1 section 2.3.3) */
};

static const struct curve {
	const char *oid;
	size_t oid_size;
	int number;
	size_t point; /* bytes */
} curves[] = {
	{ OID_P256, sizeof(OID_P256) - 1, 23, 65 },
	{ OID_P384, sizeof(OID_P384) - 1, 24, 97 },
	{ OID_P521, sizeof(OID_P521) - 1, 25, 133 },
};

static const struct curve *curve_find(struct slice oid)
{
	for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++)
		if (slice_eq(oid, (struct slice){ curves[i].oid, curves[i].oid_size }))
			return &curves[i];
	return NULL;
}

int cert_key_curve(struct slice oid)
{
	const struct curve *curve = curve_find(oid);

	return curve ? curve->number : 0;
}

size_t cert_key_size(int curve)
{
	for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++)
		if (curves[i].number == curve)
			return curves[i].point / 2;
	return 0;
}

/* parameters: the OID of a curve (RFC 5480 section 2.1.1). */
static void ec_read(struct cert_key *k, struct slice parameters, struct slice point)
{
	const struct curve *curve;
	struct slice oid;

	if (!der_take(&parameters, DER_OID, &oid))
		return;
	curve = curve_find(oid);
	if (!curve || point.n != curve->point || point.p[0] != UNCOMPRESSED)
		return;
	k->type = CERT_KEY_EC;
	k->curve = curve->number;
	k->point = point;
}

/* bits: SEQUENCE { modulus, exponent } (RFC 8017 appendix A.1.1). */
static void rsa_read(struct cert_key *k, struct slice bits)
{
	struct slice seq, n, e;

	if (!der_take(&bits, DER_SEQUENCE, &seq) || !der_take_unsigned(&seq, &n) ||
		!der_take_unsigned(&seq, &e))
		return;
	if (n.n < RSA_MIN || n.n > RSA_MAX || e.n > RSA_EXPONENT_MAX)
		return;
	k->type = CERT_KEY_RSA;
	k->n = n;
	k->e = e;
}

void cert_key_read(struct cert_key *k, struct slice in)
{
	struct slice algorithm, oid, bits;

	*k = (struct cert_key){ CERT_KEY_OTHER };
	if (!der_take(&in, DER_SEQUENCE, &algorithm) || !der_take(&algorithm, DER_OID, &oid) ||
		!der_take_bits(&in, &bits))
		return;
	if (slice_eq(oid, LIT(OID_RSA)))
		rsa_read(k, bits);
	else if (slice_eq(oid, LIT(OID_EC)))
		ec_read(k, algorithm, bits);
}
