/*
 * PEM blocks (RFC 7468) in a text that may hold anything else besides.
 */
#ifndef TLS_PEM_H
#define TLS_PEM_H

#include "base/buf.h"

/*
 * Decodes the next block with that label, such as "CERTIFICATE", from the front of *text into der,
 * behind what is there; *text becomes what follows the block, *block (when not NULL) the lines of
 * it. 1; 0: there is no further block; -EBADMSG: it is broken or does not end; -E2BIG: der is full.
 */
int pem_next(struct slice *text, const char *label, struct buf *der, struct slice *block)
	__attribute__((warn_unused_result));

/* A block of der with that label. */
void pem_put(struct buf *b, const char *label, struct slice der);

#endif
