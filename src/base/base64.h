/*
 * Base64 in the alphabet of URLs and file names, without padding (RFC 4648 section 5).
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

void base64url_put(struct buf *b, const unsigned char *p, size_t n);

#endif
