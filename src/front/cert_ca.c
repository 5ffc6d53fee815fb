#include "front/cert_ca.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "bounds.h"
#include "config.h"
#include "tls/cert_make.h"
#include "tls/pem.h"

enum {
	VALID_S = 3650 * CERT_DAY_S,
	WHY_MAX = 1000,
};

/* --- a new one --- */

/* Two CAs of one name would be taken for each other: part of the name is random. */
static struct slice name_make(char *mem, size_t size)
{
	char hex[2 * 4 + 1];
	struct buf b;

	random_hex(hex, 4);
	buf_over(&b, mem, size);
	buf_printf(&b, "sandstorm-mcp CA %s", hex);
	return buf_all(&b);
}

static int ca_make(struct cert_ca *ca, int64_t now)
{
	char mem[CERT_NAME_MAX];
	struct cert_draft draft = { .name = name_make(mem, sizeof(mem)),
		.not_before = now - CERT_EARLY_S,
		.not_after = now + VALID_S };
	int r = buf_reserve(&ca->der, CERT_MAX);

	if (r == 0)
		r = tls_key_make(&ca->key);
	if (r == 0)
		r = cert_make(&ca->der, &draft, &ca->key, NULL, &ca->key);
	if (r == 0)
		r = cert_parse(&ca->roots.cert[0], buf_all(&ca->der));
	if (r < 0)
		return complain(1, "cert: cannot make a CA: %s", strerror(-r));
	ca->roots.count = 1;
	ca->is_new = true;
	return 0;
}

static int key_write(const struct cert_ca *ca)
{
	struct buf pem;
	int r = buf_reserve(&pem, KEY_DER_MAX);

	if (r < 0)
		return r;
	tls_key_put(&ca->key, &pem);
	r = create_file(ca->key_path, 0600, buf_all(&pem));
	buf_reset(&pem, true); /* wipes */
	buf_release(&pem);
	return r;
}

static int ca_write(const struct cert_ca *ca)
{
	char mem[CERT_MAX];
	struct buf pem;
	int r = key_write(ca);

	if (r < 0)
		return complain(1, "cert: cannot write %s: %s", ca->key_path, strerror(-r));
	buf_over(&pem, mem, sizeof(mem));
	pem_put(&pem, "CERTIFICATE", buf_all(&ca->der));
	r = create_file(ca->cert_path, 0644, buf_all(&pem));
	if (r == 0)
		return 0;
	unlink(ca->key_path);
	return complain(1, "cert: cannot write %s: %s", ca->cert_path, strerror(-r));
}

/* --- one that is there --- */

static int ca_check(const struct cert_ca *ca, int64_t now)
{
	const struct cert *c = &ca->roots.cert[0];

	if (!c->ca)
		return complain(1, "cert: %s is not the certificate of a CA", ca->cert_path);
	if (!tls_key_fits(&ca->key, &c->key))
		return complain(1, "cert: %s is not the key of %s", ca->key_path, ca->cert_path);
	if (now < c->not_before)
		return complain(1,
			"cert: %s is not valid yet: the clock of this machine is wrong, or was "
			"when it was made",
			ca->cert_path);
	if (now >= c->not_after - CERT_DAY_S)
		return complain(1,
			"cert: the CA in %s has come to its end; move it and its key away to make "
			"a new one, which all clients have to be told to trust",
			ca->cert_path);
	return 0;
}

/* 0 or -errno; -EINVAL: what is wrong stands in *why. */
static int key_read(struct cert_ca *ca, struct buf *why)
{
	struct buf text;
	int r = buf_reserve(&text, CA_FILE_MAX);

	if (r == 0)
		r = read_file(ca->key_path, &text);
	if (r < 0)
		buf_puts(why, strerror(-r));
	else
		r = tls_key_read(&ca->key, buf_all(&text), why);
	buf_reset(&text, true);
	buf_release(&text);
	return r;
}

static int read_both(struct cert_ca *ca)
{
	char mem[WHY_MAX];
	struct buf why;

	buf_over(&why, mem, sizeof(mem));
	if (tls_roots_read(&ca->roots, ca->cert_path, &why) < 0)
		return complain(1, "cert: %s: %.*s", ca->cert_path, SLICE(buf_all(&why)));
	if (key_read(ca, &why) < 0)
		return complain(1, "cert: %s: %.*s", ca->key_path, SLICE(buf_all(&why)));
	return 0;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || errno != ENOENT;
}

int cert_ca_take(struct cert_ca *ca, int64_t now)
{
	bool cert = is_there(ca->cert_path), key = is_there(ca->key_path);
	int r;

	if (cert != key)
		return complain(1,
			"cert: %s is there and %s is not; put the other half back, or move this "
			"one away to make a new CA",
			cert ? ca->cert_path : ca->key_path, cert ? ca->key_path : ca->cert_path);
	if (cert) {
		r = read_both(ca);
		return r ? r : ca_check(ca, now);
	}
	r = ca_make(ca, now);
	return r ? r : ca_write(ca);
}
