#include "front/auth.h"

#include "base/secret.h"
#include "base/str.h"
#include "http/head.h"

static struct slice mcp_token;

void auth_set_token(struct slice token)
{
	mcp_token = token;
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
	return secret_eq(str_trim(token), mcp_token);
}
