/*
 * Names of servers as they stand in Host, Origin and URLs: "host[:port]" and
 * "scheme://host[:port]" (RFC 3986 section 3.2, RFC 6454 section 6.2), nothing else.
 */
#ifndef HTTP_AUTHORITY_H
#define HTTP_AUTHORITY_H

#include "base/buf.h"

/* All slices point into the text that was parsed. */
struct authority {
	struct slice scheme; /* empty when there was none */
	struct slice host;   /* letters, digits, ".-_"; an IPv6 address without its brackets */
	int port;            /* as given, or the scheme's default, or 0 */
};

/* "host[:port]" of at most AUTHORITY_MAX bytes. */
bool authority_parse(struct slice s, struct authority *a);
/* "scheme://host[:port]" */
bool authority_parse_origin(struct slice s, struct authority *a);
/*
 * Cuts "http[s]://host[:port]" off the front of a URL; *path becomes the rest (empty or from one
 * "/", without "?", "#", quotes, blanks and controls).
 */
bool authority_parse_url(struct slice url, struct authority *a, struct slice *path);

/* "host:port" of an address to listen on, an IPv6 one in brackets. */
void authority_put(struct buf *b, const char *host, unsigned port);
bool authority_same_host(const struct authority *a, const struct authority *b);
bool authority_same_origin(const struct authority *a, const struct authority *b);
/* localhost, 127.0.0.0/8 or ::1. */
bool authority_is_loopback(const struct authority *a);

#endif
