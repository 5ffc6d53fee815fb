/*
 * Authorization codes: random, kept here until they expire, redeemed once (decision 36).
 */
#ifndef FRONT_OAUTH_CODE_H
#define FRONT_OAUTH_CODE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "front/oauth_token.h"

enum { CHALLENGE_SIZE = 43 };

/* What a code was issued for; slices are borrowed during the call. */
struct oauth_grant {
	struct slice client_id;
	struct slice redirect_uri;
	struct slice challenge; /* S256, CHALLENGE_SIZE characters of base64url */
};

/* RFC 7636 section 4.2: what a challenge and a verifier look like. */
bool oauth_challenge_ok(struct slice challenge);
bool oauth_verifier_ok(struct slice verifier);

/* Appends a new code for g to b. 0, or -EAGAIN while the kernel has no random bytes yet. */
int oauth_code_issue(const struct oauth_grant *g, int64_t now_ms, struct buf *b)
	__attribute__((warn_unused_result));

enum redeemed {
	CODE_GOOD,
	CODE_BAD, /* unknown, expired, tried before, or not for this client, redirect or verifier */
	CODE_USED /* redeemed before: what that gave out must end (RFC 6749 section 10.5) */
};

/*
 * Redeems a code. redirect_uri may be empty (OAuth 2.1 has it no more); g->challenge is not read,
 * the verifier is held against what the code was issued with. family: the sign-in that would come
 * of it, remembered on CODE_GOOD; on CODE_USED it becomes the one that came of the first time.
 */
enum redeemed oauth_code_redeem(struct slice code, const struct oauth_grant *g,
	struct slice verifier, int64_t now_ms, unsigned char family[FAMILY_ID_SIZE]);
/* The MCP token was rotated: no code is good any more. */
void oauth_codes_end(void);

#endif
