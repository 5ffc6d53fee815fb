/* Certificates for people. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "tls/cert.h"
#include "tls/der.h"

/* Names of attributes are 2.5.4.x (RFC 4519); those people see have letters (RFC 4514). */
static const char *attribute_letters(struct slice id)
{
	static const struct {
		const char *letters;
		unsigned char last;
	} known[] = { { "CN", 3 }, { "C", 6 }, { "L", 7 }, { "ST", 8 }, { "O", 10 }, { "OU", 11 },
		{ 0 } };

	if (id.n == 3 && id.p[0] == 0x55 && id.p[1] == 0x04)
		for (int i = 0; known[i].letters; i++)
			if ((unsigned char)id.p[2] == known[i].last)
				return known[i].letters;
	return NULL;
}

static bool is_text(int tag)
{
	return tag == DER_UTF8_STRING || tag == DER_PRINTABLE_STRING || tag == DER_IA5_STRING ||
	       tag == DER_T61_STRING;
}

static void put_value(struct buf *b, const struct der *value)
{
	size_t from = b->len;

	if (!is_text(value->tag)) {
		buf_puts(b, "?");
		return;
	}
	utf8_repair(b, value->value);
	for (size_t i = from; i < b->len; i++)
		if ((unsigned char)b->p[i] < ' ' || b->p[i] == 0x7f)
			b->p[i] = '?';
}

/* AttributeTypeAndValue ::= SEQUENCE { type OID, value ANY } */
static void put_attribute(struct buf *b, struct slice in)
{
	struct slice id;
	struct der value;

	if (!der_take(&in, DER_OID, &id) || !der_next(&in, &value))
		return;
	buf_printf(b, "%s=", attribute_letters(id) ? attribute_letters(id) : "?");
	put_value(b, &value);
}

void cert_put_subject(struct buf *b, const struct cert *c)
{
	struct slice in = c->subject, names, set, one;
	const char *between = "";

	if (!der_take(&in, DER_SEQUENCE, &names) || names.n == 0) {
		buf_puts(b, "(empty)");
		return;
	}
	while (der_take(&names, DER_SET, &set))
		while (der_take(&set, DER_SEQUENCE, &one)) {
			buf_puts(b, between);
			put_attribute(b, one);
			between = ", ";
		}
}

void cert_put_validity(struct buf *b, const struct cert *c)
{
	clock_put_iso(b, c->not_before);
	buf_puts(b, " to ");
	clock_put_iso(b, c->not_after);
}

static void put_sha256(struct buf *b, struct slice s)
{
	unsigned char hash[HASH_SIZE];
	char hex[2 * HASH_SIZE + 1];

	hash_sha256(s, hash);
	str_hex(hash, sizeof(hash), hex);
	buf_puts(b, hex);
}

void cert_put_fingerprint(struct buf *b, const struct cert *c)
{
	put_sha256(b, c->der);
}

void cert_put(struct buf *b, const struct cert *c)
{
	buf_puts(b, "subject:        ");
	cert_put_subject(b, c);
	buf_puts(b, "\nvalid:          ");
	cert_put_validity(b, c);
	buf_puts(b, "\nSHA-256:        ");
	cert_put_fingerprint(b, c);
	buf_puts(b, "\nSHA-256 of key: ");
	put_sha256(b, c->spki);
	buf_putc(b, '\n');
}
