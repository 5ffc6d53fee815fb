/*
 * check-ca FILE: the certificates of a PEM file as rows of numbers, for src/tls/builtin.c to include. Runs on the machine that
 * builds and reads the file with the program's own sources, so that what passes here is good there. When the file cannot be
 * used: one sentence on stderr, exit 1.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "tls/pem.h"
#include "tls/roots.h"

static int refuse(const char *path, const struct buf *why)
{
	fprintf(stderr, "check-ca: CA=%s: %.*s\n", path, SLICE(buf_all(why)));
	return 1;
}

/* A certificate that is not valid yet may be meant for later, an expired one is good for nothing. */
static int dates_check(const struct tls_roots *r, struct buf *why)
{
	for (int i = 0; i < r->count; i++)
		if (r->cert[i].not_after < clock_unix()) {
			buf_printf(why, "certificate %d in it expired at ", i + 1);
			clock_put_iso(why, r->cert[i].not_after);
			return -EINVAL;
		}
	return 0;
}

/* The blocks alone: text between them need not come into the program. */
static int rows_put(struct slice text)
{
	static struct buf der;
	struct slice block;

	if (buf_reserve(&der, CA_FILE_MAX) < 0)
		return 1;
	while (pem_next(&text, "CERTIFICATE", &der, &block) == 1)
		for (size_t i = 0; i < block.n; i++)
			printf("%d,%s", block.p[i], block.p[i] == '\n' ? "\n" : "");
	return fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	static struct tls_roots roots;
	struct buf text, why;
	char mem[1024];

	if (argc != 2) {
		fprintf(stderr, "usage: check-ca FILE\n");
		return 2;
	}
	buf_over(&why, mem, sizeof(mem));
	if (tls_roots_read(&roots, argv[1], &why) < 0 || dates_check(&roots, &why) < 0)
		return refuse(argv[1], &why);
	if (buf_reserve(&text, CA_FILE_MAX) < 0 || read_file(argv[1], &text) < 0)
		return 1;
	return rows_put(buf_all(&text));
}
