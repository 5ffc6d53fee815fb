/*
 * Access tokens (30 days, nothing stored) and refresh tokens (rotating, remembered by family).
 *
 * A refresh token is a family, which is one sign-in, and a generation. The last generation is
 * remembered; using it makes the next. Its predecessor is good for REFRESH_AGAIN_S, since an answer
 * may get lost on its way; an older one has been copied by somebody and ends the family, access
 * tokens included (OAuth 2.1 section 4.3.1, decision 53). All end with the MCP token they derive
 * from.
 */
#ifndef FRONT_OAUTH_TOKEN_H
#define FRONT_OAUTH_TOKEN_H

#include <stdint.h>

#include "base/buf.h"

enum { FAMILY_ID_SIZE = 16 };

/* file: where families live, read now; borrowed. NULL: nowhere, then no refresh tokens are issued.
 * 0 or -errno of the file; a file that is not there yet is none. */
int oauth_families_load(const char *file) __attribute__((warn_unused_result));
bool oauth_can_refresh(void);

void oauth_access_put(struct buf *b, const unsigned char family[FAMILY_ID_SIZE], int64_t now_s);
/* Is it one of ours, neither expired nor of an ended family? mcp_token: the key of the reference
 * server's tokens, which live on. */
bool oauth_access_ok(struct slice token, struct slice mcp_token, int64_t now_s);

/* Begins a family for the client and appends its first refresh token to b. 0, or -errno when it
 * could not be remembered: then there is none. */
int oauth_refresh_begin(struct buf *b, const unsigned char family[FAMILY_ID_SIZE],
	struct slice client_id, int64_t now_s) __attribute__((warn_unused_result));
/*
 * Takes a refresh token and appends the next one of its family to b; *family for the access token.
 * 0, -EBADMSG: not good, or not this client's, or -errno of the file.
 */
int oauth_refresh_next(struct buf *b, struct slice token, struct slice client_id, int64_t now_s,
	unsigned char family[FAMILY_ID_SIZE]) __attribute__((warn_unused_result));
/* Somebody else has a token or code of the family: no token of it is good any more. */
void oauth_family_end(const unsigned char family[FAMILY_ID_SIZE], int64_t now_s);
bool oauth_family_ended(const unsigned char family[FAMILY_ID_SIZE]);
/* The MCP token was rotated. */
void oauth_families_end(void);

/* The text of the file; for tests. Lines that are none of ours are dropped. */
void oauth_families_parse(struct slice text);
void oauth_families_put(struct buf *b);

#endif
