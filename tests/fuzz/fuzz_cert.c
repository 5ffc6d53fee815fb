/*
 * Bytes as a certificate. Whatever is read lies inside of it; a name that is found stands in it; a
 * key has the size of its kind; what people read is printable.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "tls/cert.h"

static struct slice whole;

static void inside(struct slice s)
{
	MUST(s.n == 0 || (s.p >= whole.p && s.p + s.n <= whole.p + whole.n));
}

static void key_look(const struct cert_key *k)
{
	inside(k->point);
	inside(k->n);
	inside(k->e);
	if (k->type == CERT_KEY_RSA)
		MUST(k->n.n >= 128 && k->n.n <= 512 && k->n.p[0] != 0 && k->e.n >= 1 &&
			k->e.n <= 8);
	if (k->type == CERT_KEY_EC)
		MUST(k->curve >= 23 && k->curve <= 25 &&
			k->point.n == (k->curve == 23          ? 65u
					      : k->curve == 24 ? 97u
							       : 133u));
}

static void names_look(const struct cert *c, size_t size)
{
	static const char address[16] = { 127, 0, 0, 1 };
	struct slice want = { address, size };
	char entry[2 + 16] = { (char)0x87, (char)size };

	memcpy(entry + 2, address, size);
	if (cert_has_address(c, want))
		MUST(memmem(c->alt_names.p, c->alt_names.n, entry, 2 + size) != NULL);
}

static void texts_look(const struct cert *c)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);

	cert_put(b, c);
	MUST(!b->failed && b->len > 0);
	for (size_t i = 0; i < b->len; i++)
		MUST((unsigned char)b->p[i] >= ' ' ? b->p[i] != 0x7f : b->p[i] == '\n');
	for (size_t i = 0; i < b->len;) {
		int n = utf8_seq(slice_from(buf_all(b), i));

		MUST(n > 0);
		i += (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cert c;

	whole = (struct slice){ (const char *)data, size };
	if (cert_parse(&c, whole) < 0)
		return 0;
	inside(c.issuer);
	inside(c.subject);
	inside(c.spki);
	inside(c.alt_names);
	MUST(c.der.n == size && c.spki.n >= 2 && c.subject.n >= 2);
	key_look(&c.key);
	names_look(&c, 4);
	names_look(&c, 16);
	texts_look(&c);
	return 0;
}
