/*
 * The forms answers of the authorization server have, all never to be stored, and what its requests
 * have in common.
 */
#ifndef FRONT_OAUTH_REPLY_H
#define FRONT_OAUTH_REPLY_H

#include "base/buf.h"
#include "http/server.h"

/* JSON. more: further fields, or empty. */
void oauth_json(struct http_request *r, int status, struct slice more, const struct buf *body);
/* {"error": ..., "error_description": ...} (RFC 6749 section 5.2); text may be NULL. */
void oauth_error(struct http_request *r, int status, const char *error, const char *text);
/* A page: HTML with the fields that keep it from being framed, stored or told to others. */
void oauth_html(struct http_request *r, int status, struct slice more, const struct buf *body);
/* 302 to a registered redirect URI: pairs are name, value, ... ended by NULL; a value with p NULL
 * is left out. iss is added (RFC 9207). False, and nothing is answered: that is too long for us.
 * Not go: it is only looked whether it would be. */
struct oauth_pair {
	const char *name; /* NULL ends the array */
	struct slice value;
};
bool oauth_redirect(struct http_request *r, struct slice uri, const struct oauth_pair *pairs,
	bool go) __attribute__((warn_unused_result));

/* The public URL of this server, without a slash at its end: the issuer. */
void oauth_put_issuer(const struct http_request *r, struct buf *b);
/* Is it this server that a resource indicator names (RFC 8707)? An absent one is. */
bool oauth_resource_ok(const struct http_request *r, struct slice resource);

#endif
