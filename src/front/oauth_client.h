/*
 * Clients of the authorization server (RFC 7591). What a client registered is sealed in its
 * client_id, so nothing is stored and nobody can register the table full.
 */
#ifndef FRONT_OAUTH_CLIENT_H
#define FRONT_OAUTH_CLIENT_H

#include "base/buf.h"
#include "json/json.h"

struct oauth_client {
	struct slice id;
	struct slice name; /* as it calls itself, well-formed UTF-8; may be empty */
	/* private */
	struct json doc;
	int redirects; /* token of the array */
};

/*
 * Answers a registration: body (unescaped in place) becomes the client information response in out,
 * mem is for tokens. 0, or what RFC 7591 section 3.2.2 calls it, as error and *why for its
 * description: "invalid_redirect_uri", "invalid_client_metadata".
 */
const char *oauth_client_register(struct slice body, struct buf *mem, struct buf *out,
	const char **why) __attribute__((warn_unused_result));

/* Opens a client_id into mem. 0, or -EBADMSG: not one of ours (any more), -ENOMEM. */
int oauth_client_open(struct oauth_client *c, struct slice id, struct buf *mem)
	__attribute__((warn_unused_result));
/* Is uri one of its redirect URIs? */
bool oauth_client_redirects(struct oauth_client *c, struct slice uri);
/* The only one it has, for requests that name none; empty when it has several. */
struct slice oauth_client_only_redirect(struct oauth_client *c);

#endif
