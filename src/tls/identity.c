#include "tls/identity.h"

#include <errno.h>

#include "base/file.h"
#include "bounds.h"

static const char cert_name[] = "SANDSTORM_TLS_CERT";
static const char key_name[] = "SANDSTORM_TLS_KEY";

static int key_load(struct identity *i, const char *path, struct buf *why)
{
	struct buf text;
	int r = buf_reserve(&text, CA_FILE_MAX);

	if (r == 0)
		r = read_file(path, &text);
	buf_printf(why, "%s %s: ", key_name, path);
	if (r == -E2BIG)
		buf_printf(why, "is larger than %d KiB", CA_FILE_MAX / KIB);
	else if (r < 0)
		buf_puts(why, strerror(-r));
	else
		r = tls_key_read(&i->key, buf_all(&text), why);
	buf_reset(&text, true); /* wipes */
	buf_release(&text);
	return r < 0 ? -EINVAL : 0;
}

static bool is_self_issued(const struct cert *c)
{
	return slice_eq(c->issuer, c->subject);
}

/* The key belongs to the first certificate. */
static int key_check(
	const struct identity *i, const char *cert_path, const char *key_path, struct buf *why)
{
	if (tls_key_fits(&i->key, &i->chain.cert[0].key))
		return 0;
	for (int nth = 1; nth < i->chain.count; nth++)
		if (tls_key_fits(&i->key, &i->chain.cert[nth].key)) {
			buf_printf(why,
				"%s %s: the key in %s %s belongs to certificate %d in it, which "
				"must come first",
				cert_name, cert_path, key_name, key_path, nth + 1);
			return -EINVAL;
		}
	buf_printf(why, "%s %s: the key does not fit the certificate in %s %s", key_name, key_path,
		cert_name, cert_path);
	return -EINVAL;
}

/* Each certificate was issued by the next (RFC 5246 section 7.4.2). */
static int order_check(const struct identity *i, const char *path, struct buf *why)
{
	for (int nth = 0; nth + 1 < i->chain.count; nth++) {
		const struct cert *c = &i->chain.cert[nth];

		if (slice_eq(c->issuer, c[1].subject))
			continue;
		buf_printf(why,
			"%s %s: certificate %d in it did not issue certificate %d; the server's "
			"own comes first, then the CA that issued it, then that CA's",
			cert_name, path, nth + 2, nth + 1);
		return -EINVAL;
	}
	return 0;
}

static int chain_load(struct identity *i, const char *path, struct buf *why)
{
	size_t from = why->len;
	int r;

	buf_printf(why, "%s %s: ", cert_name, path);
	r = tls_roots_read(&i->chain, path, why);
	if (r == 0)
		buf_cut(why, from);
	return r;
}

static int all_load(
	struct identity *i, const char *cert_path, const char *key_path, struct buf *why)
{
	size_t from = why->len;
	int r = chain_load(i, cert_path, why);

	if (r == 0)
		r = key_load(i, key_path, why);
	if (r < 0)
		return r;
	buf_cut(why, from);
	r = key_check(i, cert_path, key_path, why);
	return r < 0 ? r : order_check(i, cert_path, why);
}

int identity_read(struct identity *i, const char *cert_path, const char *key_path, struct buf *why)
{
	if (all_load(i, cert_path, key_path, why) < 0) {
		identity_drop(i);
		return -EINVAL;
	}
	i->sent = i->chain.count;
	if (i->sent > 1 && is_self_issued(&i->chain.cert[i->sent - 1]))
		i->sent--;
	return 0;
}

void identity_drop(struct identity *i)
{
	tls_roots_drop(&i->chain);
	tls_key_wipe(&i->key);
	i->sent = 0;
}

const struct cert *identity_root(const struct identity *i)
{
	const struct cert *last = &i->chain.cert[i->chain.count - 1];

	return i->chain.count > 0 && is_self_issued(last) ? last : NULL;
}
