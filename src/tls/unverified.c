#include "tls/unverified.h"

#include "tls/client_state.h"
#include "tls/pkey.h"

static struct blind *blind_of(const br_x509_class **ctx)
{
	return (struct blind *)(void *)ctx;
}

static void start_chain(const br_x509_class **ctx, const char *name)
{
	struct blind *b = blind_of(ctx);

	(void)name;
	b->nth = 0;
	buf_reset(b->cert, true);
}

static void start_cert(const br_x509_class **ctx, uint32_t length)
{
	(void)ctx, (void)length;
}

static void append(const br_x509_class **ctx, const unsigned char *p, size_t n)
{
	struct blind *b = blind_of(ctx);

	if (b->nth == 0)
		buf_put(b->cert, p, n);
}

static void end_cert(const br_x509_class **ctx)
{
	blind_of(ctx)->nth++;
}

/* The key is what the rest of the handshake needs. */
static unsigned end_chain(const br_x509_class **ctx)
{
	struct blind *b = blind_of(ctx);
	struct cert c;

	if (b->nth == 0)
		return BR_ERR_X509_EMPTY_CHAIN;
	if (b->cert->failed || cert_parse(&c, buf_all(b->cert)) < 0)
		return BR_ERR_X509_INVALID_VALUE;
	if (c.key.type == CERT_KEY_OTHER)
		return BR_ERR_X509_WRONG_KEY_TYPE;
	pkey_make(&b->key, &c.key);
	return 0;
}

static const br_x509_pkey *get_pkey(const br_x509_class *const *ctx, unsigned *usages)
{
	if (usages)
		*usages = BR_KEYTYPE_SIGN;
	return &((const struct blind *)(const void *)ctx)->key;
}

static const br_x509_class blind_vtable = {
	.context_size = sizeof(struct blind),
	.start_chain = start_chain,
	.start_cert = start_cert,
	.append = append,
	.end_cert = end_cert,
	.end_chain = end_chain,
	.get_pkey = get_pkey,
};

static void x509_blind(struct tls_client *c)
{
	c->state->x509.blind = (struct blind){ .vtable = &blind_vtable, .cert = &c->cert };
}

int tls_unverified_start(struct tls_client *c, int fd, const char *host)
{
	return client_start(c, fd, host, NULL, x509_blind);
}
