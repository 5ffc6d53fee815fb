/*
 * Where a server is: "https://host[:port][/prefix]", the only form there is (sandbox-tools.md
 * section 1, decision 11).
 */
#ifndef HTTP_HTTPS_URL_H
#define HTTP_HTTPS_URL_H

#include "base/buf.h"

struct http_origin {
	char host[256]; /* DNS name, or IPv4 or IPv6 address without brackets */
	unsigned port;
	char prefix[512]; /* path before every target: "", or "/..." without a slash at its end */
};

/*
 * At most MASTER_URL_MAX bytes. 0, or -EINVAL with what is wrong in *why, the rest of a sentence
 * about the URL: "must begin with https://".
 */
int http_origin_parse(struct http_origin *o, struct slice url, const char **why)
	__attribute__((warn_unused_result));
/* A refused URL as it may be told: from its last "@" on, since a password may stand before it. */
const char *http_origin_shown(const char *url);
void http_origin_put(const struct http_origin *o, struct buf *b); /* as a URL again */
/* "host" or "host:port" as a Host field has it: the port only where it is not 443. */
void http_origin_put_host(const struct http_origin *o, struct buf *b);

#endif
