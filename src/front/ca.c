#include "front/ca.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "config.h"
#include "front/ca_fetch.h"
#include "loop/loop.h"
#include "loop/proc.h"
#include "tls/fingerprint.h"
#include "tls/pem.h"
#include "tls/roots.h"

enum { WHY_MAX = 1000 };

/* What the master has sent, and what becomes of it. */
struct offer {
	const struct ca_options *options;
	unsigned char fingerprint[HASH_SIZE];
	struct buf pem;
	struct tls_roots roots;
	struct buf text;   /* for people */
	struct buf blocks; /* the certificates that go out */
};

/* --- what is asked for --- */

static int options_read(struct offer *o, struct http_origin *from)
{
	const struct ca_options *options = o->options;
	const char *why;

	if (http_origin_parse(from, slice_of(options->url), &why) < 0)
		return complain(2, "ca: \"%s\" %s", http_origin_shown(options->url), why);
	if (options->fingerprint &&
		!fingerprint_parse(slice_of(options->fingerprint), o->fingerprint))
		return complain(2,
			"ca: --fingerprint %s is neither 64 hex digits, with colons or without, "
			"nor base64 of 32 bytes",
			options->fingerprint);
	return 0;
}

static int offer_fetch(struct offer *o, const struct http_origin *from)
{
	char mem[WHY_MAX];
	struct buf why;
	int r;

	buf_over(&why, mem, sizeof(mem));
	r = ca_fetch(from, &o->pem, &why);
	if (r == 0)
		r = tls_roots_load(&o->roots, buf_all(&o->pem), &why);
	return r < 0 ? complain(1, "ca: %s/ca.pem: %.*s", o->options->url, SLICE(buf_all(&why)))
		     : 0;
}

/* --- what goes out --- */

static bool wanted(const struct offer *o, const struct cert *c)
{
	return !o->options->fingerprint || fingerprint_is_of(o->fingerprint, c);
}

/* Certificates nobody has asked for by their fingerprint would be anchors as good as the right
 * one, so they stay out. The blocks are those that roots was loaded from, in their order. */
static void offer_look(struct offer *o, struct buf *der)
{
	struct slice text = buf_all(&o->pem), block;

	for (int i = 0; pem_next(&text, "CERTIFICATE", der, &block) == 1; i++) {
		cert_put(&o->text, &o->roots.cert[i]);
		if (!wanted(o, &o->roots.cert[i]))
			continue;
		buf_slice(&o->blocks, block);
		if (block.p[block.n - 1] != '\n')
			buf_putc(&o->blocks, '\n');
	}
}

static int out(struct slice s)
{
	int r = write_all(STDOUT_FILENO, s);

	return r < 0 ? complain(1, "ca: cannot write to standard output: %s", strerror(-r)) : 0;
}

static int file_write(const char *path, struct slice blocks)
{
	int r = replace_file(path, 0644, blocks);

	return r < 0 ? complain(1, "ca: cannot write %s: %s", path, file_error(r)) : 0;
}

static int unproven(const struct offer *o)
{
	const struct ca_options *options = o->options;

	complain(1,
		"ca: nobody has verified this yet: compare a SHA-256 with one that came another "
		"way, then use --fingerprint%s%s",
		options->file ? "; nothing was written to " : "",
		options->file ? options->file : "");
	return options->print ? 0 : 1;
}

static int offer_put(const struct offer *o)
{
	const struct ca_options *options = o->options;
	bool to_file = options->fingerprint && options->file;
	int r = out(buf_all(&o->text));

	if (r == 0 && o->blocks.len == 0)
		return complain(1,
			"ca: none of what %s sends has that fingerprint, nothing was written: who "
			"answers may not be your master",
			options->url);
	if (r == 0)
		r = to_file ? file_write(options->file, buf_all(&o->blocks))
			    : out(buf_all(&o->blocks));
	return r || options->fingerprint ? r : unproven(o);
}

/* --- the command --- */

static int memory_open(struct offer *o, struct buf *der)
{
	int r = buf_reserve(&o->pem, CA_FILE_MAX);

	if (r == 0)
		r = buf_reserve(&o->blocks, CA_FILE_MAX + KIB);
	if (r == 0)
		r = buf_reserve(&o->text, 2 * CA_FILE_MAX);
	if (r == 0)
		r = buf_reserve(der, CA_FILE_MAX);
	return r;
}

static int set_up(struct offer *o, struct buf *der)
{
	int r = memory_open(o, der);

	if (r == 0)
		r = loop_init();
	if (r == 0)
		r = proc_init();
	return r < 0 ? complain(1, "ca: cannot start: %s", strerror(-r)) : 0;
}

int ca_run(const struct ca_options *options)
{
	struct offer o = { .options = options };
	struct http_origin from;
	struct buf der;
	int r = options_read(&o, &from);

	if (r == 0)
		r = set_up(&o, &der);
	if (r == 0)
		r = offer_fetch(&o, &from);
	if (r)
		return r;
	offer_look(&o, &der);
	return offer_put(&o);
}
