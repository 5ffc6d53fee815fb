/*
 * Trust anchors: the certificates of one PEM text, compiled in (`make CA=ca.pem`) or read at start.
 */
#ifndef TLS_ROOTS_H
#define TLS_ROOTS_H

#include "base/buf.h"
#include "bounds.h"
#include "tls/cert.h"

struct tls_roots {
	int count;
	bool built_in;               /* for the sentences about them */
	struct cert cert[ROOTS_MAX]; /* slices into der */
	struct buf der;
};

/*
 * All certificates of a PEM text; text around the blocks and CR LF are fine. pem is not needed
 * afterwards. r is zeroed, or used before and dropped. 0, or -EINVAL with what goes behind a file's
 * name in *why: "holds no certificate".
 */
int tls_roots_load(struct tls_roots *r, struct slice pem, struct buf *why)
	__attribute__((warn_unused_result));
/* The same from a file; *why also tells what the kernel refused: "No such file or directory". */
int tls_roots_read(struct tls_roots *r, const char *path, struct buf *why)
	__attribute__((warn_unused_result));
void tls_roots_drop(struct tls_roots *r);

/* What `make CA=ca.pem` has compiled in; NULL without. */
const struct tls_roots *tls_roots_builtin(void);

#endif
