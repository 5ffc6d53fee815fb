/*
 * Base 64 (RFC 4648).
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

/* The URL-safe alphabet of section 5, without padding. */
void base64url_put(struct buf *b, const unsigned char *p, size_t n);
/* The alphabet of section 4, with padding. */
void base64_put(struct buf *b, const unsigned char *p, size_t n);
/*
 * The bytes a whole text stands for, appended to out. Strict: nothing but digits, a length that can
 * be, no bits set beyond the last byte; so each sequence of bytes has exactly one text. False:
 * refused, or out is full.
 */
bool base64url_get(struct slice text, struct buf *out); /* section 5, no padding */
bool base64_get(struct slice text, struct buf *out);    /* section 4, with its padding */

#endif
