#include "front/auth.h"

#include "base/clock.h"
#include "base/secret.h"
#include "base/str.h"
#include "front/capsule.h"
#include "front/oauth_code.h"
#include "front/oauth_token.h"
#include "http/head.h"

static struct slice mcp_token, session_token;

/* That the token is another one is seen by its key: the text of the old one may be overwritten. */
void auth_set_token(struct slice token)
{
	static unsigned char known[HASH_SIZE];
	unsigned char hash[HASH_SIZE];
	bool rotated = mcp_token.n > 0;

	hash_sha256(token, hash);
	mcp_token = token;
	if (rotated && memcmp(hash, known, HASH_SIZE) == 0)
		return;
	memcpy(known, hash, HASH_SIZE);
	capsule_keys(token);
	if (rotated) {
		oauth_codes_end();
		oauth_families_end();
	}
}

bool auth_is_token(struct slice given)
{
	return secret_eq(given, mcp_token);
}

/* What follows the scheme. False: another scheme, or no field. */
static bool bearer(struct slice value, struct slice *token)
{
	static const char scheme[] = "Bearer";

	if (!value.p || !http_same(slice_head(value, sizeof(scheme) - 1), scheme))
		return false;
	*token = slice_from(value, sizeof(scheme) - 1);
	if (!token->n || (token->p[0] != ' ' && token->p[0] != '\t'))
		return false;
	*token = str_trim(*token);
	return true;
}

bool auth_bearer_ok(struct slice value)
{
	struct slice token;

	return bearer(value, &token) &&
	       (auth_is_token(token) || oauth_access_ok(token, mcp_token, clock_unix()));
}

void auth_set_session_token(struct slice token)
{
	session_token = token;
}

bool auth_session_token(void)
{
	return session_token.n > 0;
}

bool auth_session_ok(struct slice value)
{
	struct slice token;

	if (!auth_session_token())
		return auth_bearer_ok(value);
	return bearer(value, &token) && secret_eq(token, session_token);
}
