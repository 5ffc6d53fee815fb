/*
 * Percent escapes (RFC 3986 section 2.1).
 */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include "base/buf.h"

/* The byte of the escape "%XX" that s starts with, -1 when it starts with none. */
int percent_byte(struct slice s);
/* Everything but the unreserved letters, digits and "-._~" as %XX. */
void percent_put(struct buf *b, struct slice s);

#endif
