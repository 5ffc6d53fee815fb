/*
 * A private key, as DER and as a PEM text. Whatever it is, what is taken keeps the bounds that the
 * signing engine relies on, and signs without harm; what is refused has a sentence and leaves
 * nothing behind. A text with the key's block alone says the same as one with more around it.
 */
#include "fuzz.h"

#include <errno.h>

#include "bounds.h"
#include "tls/key.h"
#include "tls/pem.h"

static void number_ok(const struct tls_key *k, struct slice s, size_t most)
{
	const char *mem = (const char *)k->mem;

	MUST(s.n > 0 && s.n <= most);
	MUST(s.p >= mem && s.p + s.n <= mem + sizeof(k->mem));
}

static void taken(const struct tls_key *k)
{
	static const unsigned char hash[32] = { 1 };
	unsigned char signature[TLS_KEY_SIGNATURE_MAX];

	MUST(k->type == CERT_KEY_RSA || k->type == CERT_KEY_EC);
	if (k->type == CERT_KEY_EC) {
		MUST(k->curve == 23 || k->curve == 24);
		number_ok(k, k->x, k->curve == 23 ? 32 : 48);
	} else {
		MUST(k->bits >= TLS_KEY_RSA_MIN && k->bits <= TLS_KEY_RSA_MAX);
		number_ok(k, k->p, TLS_KEY_FACTOR_MAX);
		number_ok(k, k->q, TLS_KEY_FACTOR_MAX);
		number_ok(k, k->dp, k->p.n);
		number_ok(k, k->dq, k->q.n);
		number_ok(k, k->iq, k->p.n);
	}
	MUST(tls_key_sign(k, hash, signature).n <= sizeof(signature));
}

static void refused(const struct tls_key *k)
{
	static const struct tls_key nothing;

	MUST(memcmp(k, &nothing, sizeof(nothing)) == 0);
}

static void as_der(struct slice der)
{
	struct tls_key k, again;
	static struct buf mem;
	struct buf *text = fuzz_buf(&mem, MIB);
	char why_mem[256];
	struct buf why;
	int r = tls_key_parse(&k, der);

	MUST(r == 0 || r == -EBADMSG || r == -ENOTSUP);
	if (r < 0) {
		refused(&k);
		return;
	}
	taken(&k);
	if (der.n > KEY_DER_MAX)
		return;
	buf_puts(text, "some text\n");
	pem_put(text, "PRIVATE KEY", der);
	buf_over(&why, why_mem, sizeof(why_mem));
	MUST(tls_key_read(&again, buf_all(text), &why) == 0 && why.len == 0);
	MUST(again.type == k.type && memcmp(again.mem, k.mem, sizeof(k.mem)) == 0);
}

static void as_pem(struct slice text)
{
	struct tls_key k;
	char why_mem[256];
	struct buf why;
	int r;

	buf_over(&why, why_mem, sizeof(why_mem));
	r = tls_key_read(&k, text, &why);
	MUST(r == 0 || r == -EINVAL);
	if (r == 0) {
		MUST(why.len == 0);
		taken(&k);
	} else {
		MUST(why.len > 0 && !why.failed);
		refused(&k);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };

	as_der(in);
	as_pem(in);
	return 0;
}
