#include "tls/roots.h"

#include <errno.h>

#include "base/file.h"
#include "tls/pem.h"

static int too_large(struct buf *why)
{
	buf_printf(why, "is larger than %d KiB", CA_FILE_MAX / KIB);
	return -EINVAL;
}

static int refuse(struct buf *why, int nth, const char *what)
{
	buf_printf(why, "certificate %d in it %s", nth, what);
	return -EINVAL;
}

/* The certificate that was decoded last, der->len - from bytes. */
static int root_add(struct tls_roots *r, size_t from, struct buf *why)
{
	struct cert *c = &r->cert[r->count];
	int nth = r->count + 1;

	if (nth > ROOTS_MAX) {
		buf_printf(why, "holds more than %d certificates", ROOTS_MAX);
		return -EINVAL;
	}
	if (cert_parse(c, buf_since(&r->der, from)) < 0)
		return refuse(why, nth, "cannot be decoded");
	if (c->key.type == CERT_KEY_OTHER)
		return refuse(why, nth,
			"has a key that is neither RSA (1024 to 4096 bits) nor EC "
			"(P-256, P-384, P-521)");
	r->count++;
	return 0;
}

static int roots_add(struct tls_roots *r, struct slice pem, struct buf *why)
{
	size_t from = 0;
	int got, e = 0;

	while (e == 0 && (got = pem_next(&pem, "CERTIFICATE", &r->der, NULL)) != 0) {
		e = got < 0 ? refuse(why, r->count + 1, "is no whole PEM block")
			    : root_add(r, from, why);
		from = r->der.len;
	}
	if (e == 0 && r->count == 0) {
		buf_puts(why, "holds no certificate (no line -----BEGIN CERTIFICATE-----)");
		e = -EINVAL;
	}
	return e;
}

int tls_roots_load(struct tls_roots *r, struct slice pem, struct buf *why)
{
	int e;

	*r = (struct tls_roots){ .count = 0 };
	if (pem.n > CA_FILE_MAX)
		return too_large(why);
	if (buf_reserve(&r->der, CA_FILE_MAX) < 0) {
		buf_puts(why, strerror(ENOMEM));
		return -EINVAL;
	}
	e = roots_add(r, pem, why);
	if (e < 0)
		tls_roots_drop(r);
	return e;
}

void tls_roots_drop(struct tls_roots *r)
{
	buf_release(&r->der);
	r->count = 0;
}

int tls_roots_read(struct tls_roots *r, const char *path, struct buf *why)
{
	struct buf text;
	int e = buf_reserve(&text, CA_FILE_MAX);

	if (e == 0)
		e = read_file(path, &text);
	if (e == -E2BIG)
		too_large(why);
	else if (e < 0)
		buf_puts(why, strerror(-e));
	else
		e = tls_roots_load(r, buf_all(&text), why);
	buf_release(&text);
	return e < 0 ? -EINVAL : 0;
}
