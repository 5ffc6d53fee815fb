#include "tls/verify.h"

#include <arpa/inet.h>

#include "base/clock.h"
#include "tls/pkey.h"

enum {
	DAY_S = 86400,
	DAYS_TO_1970 = 719528, /* BearSSL counts from the year 0 */
};

static struct verify *verify_of(const br_x509_class **ctx)
{
	return (struct verify *)(void *)ctx;
}

static void start_chain(const br_x509_class **ctx, const char *name)
{
	struct verify *v = verify_of(ctx);

	(void)name; /* what SNI says; the host is known here */
	v->nth = 0;
	v->address_found = v->dated = false;
	br_x509_minimal_vtable.start_chain(&v->minimal.vtable, v->address_n ? NULL : v->host);
}

static void start_cert(const br_x509_class **ctx, uint32_t length)
{
	struct verify *v = verify_of(ctx);

	buf_reset(v->cert, true);
	br_x509_minimal_vtable.start_cert(&v->minimal.vtable, length);
}

/* A certificate that is too large for the copy goes on to the engine all the same. */
static void append(const br_x509_class **ctx, const unsigned char *p, size_t n)
{
	struct verify *v = verify_of(ctx);

	buf_put(v->cert, p, n);
	br_x509_minimal_vtable.append(&v->minimal.vtable, p, n);
}

static void cert_look(struct verify *v)
{
	struct cert c;

	if (v->cert->failed || cert_parse(&c, buf_all(v->cert)) < 0)
		return;
	if (v->nth == 0)
		v->address_found = cert_has_address(
			&c, (struct slice){ (const char *)v->address, v->address_n });
	if (!v->dated && (v->now < c.not_before || v->now > c.not_after)) {
		v->dated = true;
		v->not_before = c.not_before;
		v->not_after = c.not_after;
	}
}

static void end_cert(const br_x509_class **ctx)
{
	struct verify *v = verify_of(ctx);

	cert_look(v);
	v->nth++;
	br_x509_minimal_vtable.end_cert(&v->minimal.vtable);
}

static unsigned end_chain(const br_x509_class **ctx)
{
	struct verify *v = verify_of(ctx);
	unsigned error = br_x509_minimal_vtable.end_chain(&v->minimal.vtable);

	buf_reset(v->cert, false);
	if (error == 0 && !(v->address_n ? v->address_found : v->host[0] != '\0'))
		error = BR_ERR_X509_BAD_SERVER_NAME;
	return error;
}

static const br_x509_pkey *get_pkey(const br_x509_class *const *ctx, unsigned *usages)
{
	const struct verify *v = (const struct verify *)(const void *)ctx;

	return br_x509_minimal_vtable.get_pkey(&v->minimal.vtable, usages);
}

static const br_x509_class verify_vtable = {
	.context_size = sizeof(struct verify),
	.start_chain = start_chain,
	.start_cert = start_cert,
	.append = append,
	.end_cert = end_cert,
	.end_chain = end_chain,
	.get_pkey = get_pkey,
};

size_t verify_address(const char *host, unsigned char out[16])
{
	if (inet_pton(AF_INET, host, out) == 1)
		return 4;
	return inet_pton(AF_INET6, host, out) == 1 ? 16 : 0;
}

/* The DN as a whole element is what the engine hashes and compares with an issuer's. */
static void anchor_make(br_x509_trust_anchor *a, const struct cert *c)
{
	a->dn.data = pkey_bytes(c->subject);
	a->dn.len = c->subject.n;
	a->flags = c->ca ? BR_X509_TA_CA : 0;
	pkey_make(&a->pkey, &c->key);
}

static void minimal_setup(struct verify *v, size_t anchors)
{
	br_x509_minimal_context *m = &v->minimal;

	br_x509_minimal_init(m, &br_sha256_vtable, v->anchors, anchors);
	br_x509_minimal_set_rsa(m, br_rsa_i31_pkcs1_vrfy);
	br_x509_minimal_set_ecdsa(m, &br_ec_all_m31, br_ecdsa_i31_vrfy_asn1);
	/* no SHA-1: nothing signed with it is trusted */
	br_x509_minimal_set_hash(m, br_sha256_ID, &br_sha256_vtable);
	br_x509_minimal_set_hash(m, br_sha384_ID, &br_sha384_vtable);
	br_x509_minimal_set_hash(m, br_sha512_ID, &br_sha512_vtable);
}

void verify_setup(
	struct verify *v, const struct tls_roots *roots, const char *host, struct buf *cert)
{
	int64_t now = clock_unix(), since = now > 0 ? now : 0;

	*v = (struct verify){ .vtable = &verify_vtable, .host = host, .cert = cert };
	v->address_n = verify_address(host, v->address);
	for (int i = 0; i < roots->count; i++)
		anchor_make(&v->anchors[i], &roots->cert[i]);
	minimal_setup(v, (size_t)roots->count);
	v->now = now;
	br_x509_minimal_set_time(
		&v->minimal, (uint32_t)(since / DAY_S + DAYS_TO_1970), (uint32_t)(since % DAY_S));
}
