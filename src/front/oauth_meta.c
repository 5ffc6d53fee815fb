/*
 * What clients read and do before anybody signs in: metadata and registration.
 */
#include "bounds.h"
#include "front/oauth.h"
#include "front/oauth_client.h"
#include "front/oauth_reply.h"
#include "front/oauth_token.h"
#include "json/json_write.h"

enum {
	METADATA_MAX = 8 * KIB,
	REGISTER_MAX = 64 * KIB, /* tokens of a body of 16 KiB */
	ANSWER_MAX = 16 * KIB,
};

static void put_url(const struct http_request *r, struct jw *w, const char *key, const char *path)
{
	char mem[PUBLIC_URL_MAX + 64];
	struct buf url;

	buf_over(&url, mem, sizeof(mem));
	oauth_put_issuer(r, &url);
	buf_puts(&url, path);
	jw_str(w, key, buf_all(&url));
}

static void put_list(struct jw *w, const char *key, const char *first, const char *second)
{
	jw_array(w, key);
	jw_puts(w, NULL, first);
	if (second)
		jw_puts(w, NULL, second);
	jw_close(w);
}

/* RFC 9728 section 2 */
void oauth_serve_resource(struct http_request *r)
{
	char mem[METADATA_MAX];
	struct buf body;
	struct jw w;

	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	put_url(r, &w, "resource", "/mcp");
	jw_array(&w, "authorization_servers");
	put_url(r, &w, NULL, "");
	jw_close(&w);
	put_list(&w, "bearer_methods_supported", "header", NULL);
	jw_puts(&w, "resource_name", "Sandstorm MCP");
	jw_close(&w);
	oauth_json(r, 200, (struct slice){ 0 }, &body);
}

/* RFC 8414 section 2. offline_access is what clients ask for that want refresh tokens. */
void oauth_serve_server(struct http_request *r)
{
	const char *refresh = oauth_can_refresh() ? "refresh_token" : NULL;
	char mem[METADATA_MAX];
	struct buf body;
	struct jw w;

	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	put_url(r, &w, "issuer", "");
	put_url(r, &w, "authorization_endpoint", "/oauth/authorize");
	put_url(r, &w, "token_endpoint", "/oauth/token");
	put_url(r, &w, "registration_endpoint", "/oauth/register");
	put_list(&w, "response_types_supported", "code", NULL);
	put_list(&w, "grant_types_supported", "authorization_code", refresh);
	put_list(&w, "token_endpoint_auth_methods_supported", "none", NULL);
	put_list(&w, "code_challenge_methods_supported", "S256", NULL);
	if (refresh)
		put_list(&w, "scopes_supported", "offline_access", NULL);
	jw_bool(&w, "authorization_response_iss_parameter_supported", true);
	jw_close(&w);
	oauth_json(r, 200, (struct slice){ 0 }, &body);
}

void oauth_serve_register(struct http_request *r)
{
	static char mem[REGISTER_MAX], answer[ANSWER_MAX];
	const char *error, *why = NULL;
	struct buf tokens, body;

	buf_over(&tokens, mem, sizeof(mem));
	buf_over(&body, answer, sizeof(answer));
	error = oauth_client_register(r->body, &tokens, &body, &why);
	if (error)
		oauth_error(r, 400, error, why);
	else
		oauth_json(r, 201, (struct slice){ 0 }, &body);
}
