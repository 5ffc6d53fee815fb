#include "front/auth.h"

#include "base/clock.h"
#include "base/secret.h"
#include "base/str.h"
#include "front/capsule.h"
#include "front/oauth_code.h"
#include "front/oauth_token.h"
#include "http/head.h"

static struct slice mcp_token;

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
		oauth_refresh_end_all();
	}
}

bool auth_is_token(struct slice given)
{
	return secret_eq(given, mcp_token);
}

bool auth_bearer_ok(struct slice value)
{
	static const char scheme[] = "Bearer";
	struct slice token;

	if (!value.p || !http_same(slice_head(value, sizeof(scheme) - 1), scheme))
		return false;
	token = slice_from(value, sizeof(scheme) - 1);
	if (!token.n || (token.p[0] != ' ' && token.p[0] != '\t'))
		return false;
	token = str_trim(token);
	return auth_is_token(token) || oauth_access_ok(token, mcp_token, clock_unix());
}
