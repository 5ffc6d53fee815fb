/*
 * The chunked transfer coding (RFC 9112 section 7.1), decoded in pieces of any size. Knows no
 * descriptor, keeps no bytes. Extensions and trailers are read and dropped; lines end with CR LF
 * only.
 */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include <stdint.h>

#include "base/slice.h"

struct chunked {
	int state;
	int digits;     /* of the size being read */
	uint64_t left;  /* bytes of the chunk still to come */
	size_t skipped; /* bytes of this chunk's extensions, or trailers, up to HTTP_HEAD_MAX */
};

void chunked_init(struct chunked *c);
/*
 * Takes from *in; *part is body text to collect (may be empty). 1: the body has ended, *in is what
 * follows it. 0: call again while *in is not empty, or with more bytes. -EBADMSG: malformed.
 */
int chunked_take(struct chunked *c, struct slice *in, struct slice *part)
	__attribute__((warn_unused_result));

#endif
