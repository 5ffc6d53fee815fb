#include "tls/cert.h"

#include <errno.h>

#include "tls/cert_key.h"
#include "tls/der.h"
#include "tls/oid.h"

/* --- extensions --- */

/* BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, ... } */
static bool constraints_read(struct cert *c, struct slice value)
{
	struct slice seq, ca;

	if (!der_take(&value, DER_SEQUENCE, &seq) || value.n > 0)
		return false;
	if (der_take(&seq, DER_BOOLEAN, &ca))
		c->ca = ca.n == 1 && ca.p[0] != 0;
	return true;
}

/* An extension that comes twice could be read in two ways. */
static bool names_read(struct cert *c, struct slice value)
{
	return !c->alt_names.p && der_take(&value, DER_SEQUENCE, &c->alt_names) && value.n == 0;
}

/* SubjectKeyIdentifier ::= OCTET STRING */
static bool key_id_read(struct cert *c, struct slice value)
{
	return der_take(&value, DER_OCTET_STRING, &c->key_id) && value.n == 0;
}

/* Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING } */
static bool extension_read(struct cert *c, struct slice in)
{
	struct slice id, critical, value;

	if (!der_take(&in, DER_OID, &id))
		return false;
	der_take(&in, DER_BOOLEAN, &critical);
	if (!der_take(&in, DER_OCTET_STRING, &value))
		return false;
	if (slice_eq(id, LIT(OID_BASIC_CONSTRAINTS)))
		return constraints_read(c, value);
	if (slice_eq(id, LIT(OID_ALT_NAME)))
		return names_read(c, value);
	if (slice_eq(id, LIT(OID_SUBJECT_KEY_ID)))
		return key_id_read(c, value);
	return true;
}

static bool extensions_read(struct cert *c, struct slice in)
{
	struct slice all, one;

	if (!der_take(&in, DER_SEQUENCE, &all))
		return false;
	while (all.n > 0)
		if (!der_take(&all, DER_SEQUENCE, &one) || !extension_read(c, one))
			return false;
	return true;
}

/* --- the certificate --- */

/* An element of that tag, whole. */
static bool take_whole(struct slice *in, enum der_tag tag, struct slice *whole)
{
	struct der d;

	if (!der_next(in, &d) || d.tag != (int)tag)
		return false;
	*whole = d.whole;
	return true;
}

static bool validity_read(struct cert *c, struct slice *in)
{
	struct slice times;

	return der_take(in, DER_SEQUENCE, &times) && der_take_time(&times, &c->not_before) &&
	       der_take_time(&times, &c->not_after);
}

/*
 * TBSCertificate ::= SEQUENCE { version [0], serial, algorithm, issuer, validity, subject, key,
 * issuerUniqueID [1], subjectUniqueID [2], extensions [3] }
 */
static bool body_read(struct cert *c, struct slice in)
{
	struct slice skipped, key;
	struct der d;

	der_take(&in, DER_VERSION, &skipped);
	if (!der_take(&in, DER_INTEGER, &skipped) || !der_take(&in, DER_SEQUENCE, &skipped) ||
		!take_whole(&in, DER_SEQUENCE, &c->issuer) || !validity_read(c, &in) ||
		!take_whole(&in, DER_SEQUENCE, &c->subject) ||
		!take_whole(&in, DER_SEQUENCE, &c->spki))
		return false;
	key = c->spki;
	if (!der_take(&key, DER_SEQUENCE, &skipped))
		return false;
	cert_key_read(&c->key, skipped);
	while (der_next(&in, &d))
		if (d.tag == DER_EXTENSIONS && !extensions_read(c, d.value))
			return false;
	return in.n == 0;
}

int cert_parse(struct cert *c, struct slice der)
{
	struct slice in = der, outer, body, algorithm, signature;

	*c = (struct cert){ .der = der };
	if (!der_take(&in, DER_SEQUENCE, &outer) || in.n > 0)
		return -EBADMSG;
	if (!der_take(&outer, DER_SEQUENCE, &body) || !body_read(c, body))
		return -EBADMSG;
	if (!der_take(&outer, DER_SEQUENCE, &algorithm) || !der_take_bits(&outer, &signature) ||
		outer.n > 0)
		return -EBADMSG;
	return 0;
}

bool cert_has_address(const struct cert *c, struct slice address)
{
	struct slice in = c->alt_names;
	struct der d;

	while (der_next(&in, &d))
		if (d.tag == DER_IP_ADDRESS && slice_eq(d.value, address))
			return true;
	return false;
}
