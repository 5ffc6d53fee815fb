/*
 * A text as trust anchors. Whatever it is, what is taken keeps the bounds, and its blocks alone say
 * the same; what is refused has a sentence and leaves nothing behind.
 */
#include "fuzz.h"

#include "bounds.h"
#include "tls/pem.h"
#include "tls/roots.h"

static int load(struct tls_roots *r, struct slice pem, struct buf *why)
{
	buf_cut(why, 0);
	return tls_roots_load(r, pem, why);
}

/* The blocks of text without what is between them. */
static void blocks_copy(struct slice text, struct buf *out)
{
	static struct buf mem;
	struct buf *der = fuzz_buf(&mem, MIB);
	struct slice block;

	while (pem_next(&text, "CERTIFICATE", der, &block) == 1) {
		buf_slice(out, block);
		buf_putc(out, '\n');
	}
	MUST(!out->failed);
}

static void same_roots(const struct tls_roots *a, const struct tls_roots *b)
{
	MUST(a->count == b->count);
	for (int i = 0; i < a->count; i++)
		MUST(slice_eq(a->cert[i].der, b->cert[i].der));
}

static void taken(const struct tls_roots *r)
{
	MUST(r->count > 0 && r->count <= ROOTS_MAX);
	for (int i = 0; i < r->count; i++) {
		const struct cert *c = &r->cert[i];

		MUST(c->key.type == CERT_KEY_RSA || c->key.type == CERT_KEY_EC);
		MUST(c->der.p >= r->der.p && c->der.p + c->der.n <= r->der.p + r->der.len);
		MUST(c->subject.n >= 2 && c->spki.n > 2);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buf mem;
	struct slice in = { (const char *)data, size };
	struct tls_roots roots, again;
	char why_mem[256];
	struct buf why, *copy = fuzz_buf(&mem, MIB);

	buf_over(&why, why_mem, sizeof(why_mem));
	if (load(&roots, in, &why) < 0) {
		MUST(why.len > 0 && !why.failed && roots.count == 0 && roots.der.p == NULL);
		return 0;
	}
	taken(&roots);
	blocks_copy(in, copy);
	if (copy->len <= CA_FILE_MAX) {
		MUST(load(&again, buf_all(copy), &why) == 0);
		same_roots(&roots, &again);
		tls_roots_drop(&again);
	}
	tls_roots_drop(&roots);
	return 0;
}
