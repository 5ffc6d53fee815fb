/*
 * The one exchange with a server nobody has verified (decision 37): GET /ca.pem, without a token.
 */
#ifndef FRONT_CA_FETCH_H
#define FRONT_CA_FETCH_H

#include "base/buf.h"
#include "http/https_url.h"

/*
 * Runs the loop, which is set up, until the text is in *pem (CA_FILE_MAX bytes) or something is
 * wrong. 0, or -1 with a sentence about it in *why.
 */
int ca_fetch(const struct http_origin *from, struct buf *pem, struct buf *why)
	__attribute__((warn_unused_result));

#endif
