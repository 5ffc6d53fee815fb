/*
 * Replies of HTTP/1.x as a client reads them (RFC 9112 section 4 to 9): interim ones, the head, and
 * a body by length, in chunks or up to the end of the connection. Takes bytes in pieces of any
 * size, knows no descriptor.
 *
 * What two readers could take in two ways is refused: two framings, lengths that differ or are not
 * all digits, codings nobody asked for.
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include <stdint.h>

#include "base/buf.h"
#include "http/chunked.h"

struct http_reply {
	/* Of the final head, once status is not 0. The slices point into *head. */
	int status;
	int minor;                                        /* HTTP/1.minor */
	struct slice reason, type, retry_after, location; /* p NULL: absent */
	int64_t length;                                   /* Content-Length, -1: not told */
	bool keep_alive; /* after this reply the connection takes another request */

	uint64_t got;      /* bytes of the body so far */
	const char *wrong; /* after -EBADMSG and -E2BIG: what it was */

	/* private */
	struct buf *head; /* heads are collected here */
	int state, interims;
	size_t scanned;
	bool chunked_body;
	struct chunked chunked;
};

/* head: empty, takes HTTP_HEAD_MAX bytes, borrowed. */
void http_reply_init(struct http_reply *r, struct buf *head);
/*
 * Takes from *in; *part is text of the body (may be empty). 1: the reply is whole, *in is what
 * follows it. 0: call again while *in is not empty, or with more bytes. -EBADMSG malformed, -E2BIG
 * over a limit, -ENOMEM.
 */
int http_reply_take(struct http_reply *r, struct slice *in, struct slice *part)
	__attribute__((warn_unused_result));
/*
 * The connection has ended; orderly: its end was told, not only found. 1: so the reply is whole;
 * -EPIPE: something is missing.
 */
int http_reply_end(struct http_reply *r, bool orderly) __attribute__((warn_unused_result));

#endif
