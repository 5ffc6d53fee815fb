/*
 * Passwords and tokens in the URLs of a text, so that it can be shown without them.
 *
 * A secret is what stands between "://" and the last "@" before a blank, control byte, "/", "?" or
 * "#" (RFC 3986 section 3.2.1), when there is a ":" in it, or when the scheme is http or https,
 * where a name alone may be a token. After a ":" that no port follows it also reaches over "/", "?"
 * and "#": such a URL is none, but the password in it is one that somebody forgot to encode.
 */
#ifndef BASE_URL_SECRET_H
#define BASE_URL_SECRET_H

#include "base/slice.h"

enum {                 /* what is known of the text */
	CUT_START = 1, /* it was cut off from what stood before: the first word may begin in a
			  secret */
	CUT_END = 2,   /* and from what follows: the last word may end in one */
};

#define URL_MASK "***"

/* The first secret, never empty; false: there is none. Time grows with the length alone. */
bool url_secret(struct slice text, unsigned cut, struct slice *secret);

/*
 * For writers: cuts off and returns what of *rest may be shown up to the next secret, and drops
 * that. *masked: URL_MASK stands in its place. Call until rest->n is 0; *cut is kept up to date.
 */
struct slice url_shown(struct slice *rest, unsigned *cut, bool *masked);

#endif
