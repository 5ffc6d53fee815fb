/*
 * The token endpoint (RFC 6749 section 3.2): codes and refresh tokens become access tokens.
 */
#include <errno.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "bounds.h"
#include "front/form.h"
#include "front/oauth.h"
#include "front/oauth_client.h"
#include "front/oauth_code.h"
#include "front/oauth_reply.h"
#include "front/oauth_token.h"
#include "json/json_write.h"
#include "loop/loop.h"

enum {
	BODY_MAX = 16 * KIB,
	CLIENT_MEM = 16 * KIB,
	ANSWER_MAX = 2 * KIB,
};

enum { GRANT_TYPE, CODE, CLIENT_ID, CODE_VERIFIER, REDIRECT_URI, REFRESH_TOKEN, RESOURCE, PARAMS };

static const char *const names[PARAMS] = {
	[GRANT_TYPE] = "grant_type",
	[CODE] = "code",
	[CLIENT_ID] = "client_id",
	[CODE_VERIFIER] = "code_verifier",
	[REDIRECT_URI] = "redirect_uri",
	[REFRESH_TOKEN] = "refresh_token",
	[RESOURCE] = "resource",
};

/* ---- reading the request ---- */

static int read_json(struct slice body, struct buf *mem, struct slice *param)
{
	int at[PARAMS], r;
	struct json d;

	r = json_parse(&d, (char *)body.p, body.n, mem);
	if (r == 0)
		r = json_pick(&d, 0, names, PARAMS, at);
	for (int i = 0; i < PARAMS && r == 0; i++)
		if (json_type(&d, at[i]) != JSON_NONE && json_type(&d, at[i]) != JSON_NULL)
			r = json_str(&d, at[i], &param[i]);
	return r;
}

/* Clients send a form, as they should; the reference took JSON as well. */
static int read_params(const struct http_request *r, struct buf *mem, struct slice *param)
{
	struct slice body = str_trim(r->body);

	memset(param, 0, PARAMS * sizeof(*param));
	if (body.n > 0 && body.p[0] == '{')
		return read_json(body, mem, param);
	return form_pick(body, names, PARAMS, param, mem);
}

/*
 * A public client may name itself in "Authorization: Basic" with an empty password (RFC 6749
 * section 2.3.1), which then must agree with the form. False: it does not.
 */
static bool read_basic(const struct http_request *r, struct buf *mem, struct slice *client_id)
{
	static const char *const name[] = { "id" };
	struct slice value = r->head->field[FIELD_AUTHORIZATION], text, id;
	size_t from = mem->len;

	if (!value.p || !http_same(slice_head(value, 6), "Basic "))
		return true;
	buf_puts(mem, "id=");
	if (!base64_get(str_trim(slice_from(value, 6)), mem))
		return false;
	text = buf_since(mem, from);
	text = str_split(&text, ':');
	if (form_pick(text, name, 1, &id, mem) < 0 || !id.p)
		return false;
	if (client_id->p && !slice_eq(id, *client_id))
		return false;
	*client_id = id;
	return true;
}

/* ---- answering ---- */

static void invalid_grant(struct http_request *r, const char *text)
{
	oauth_error(r, 400, "invalid_grant", text);
}

/* RFC 6749 section 5.1. refresh: empty when there is none. */
static void answer_tokens(struct http_request *r, const unsigned char *family, struct slice refresh)
{
	char mem[ANSWER_MAX], access_mem[256];
	struct buf body, access;
	struct jw w;

	buf_over(&access, access_mem, sizeof(access_mem));
	oauth_access_put(&access, family, clock_unix());
	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	jw_str(&w, "access_token", buf_all(&access));
	jw_puts(&w, "token_type", "Bearer");
	jw_int(&w, "expires_in", ACCESS_S);
	if (refresh.n) {
		jw_str(&w, "refresh_token", refresh);
		jw_puts(&w, "scope", "offline_access");
	}
	jw_close(&w);
	oauth_json(r, 200, (struct slice){ 0 }, &body);
}

static void redeem_code(struct http_request *r, const struct slice *param)
{
	const struct oauth_grant g = { param[CLIENT_ID], param[REDIRECT_URI], { 0 } };
	unsigned char family[FAMILY_ID_SIZE];
	char mem[256];
	struct buf refresh;

	if (!param[CODE].p || !param[CODE_VERIFIER].p) {
		oauth_error(r, 400, "invalid_request", "code and code_verifier are required");
		return;
	}
	random_name(family, sizeof(family));
	switch (oauth_code_redeem(param[CODE], &g, param[CODE_VERIFIER], loop_now(), family)) {
	case CODE_GOOD:
		break;
	case CODE_USED:
		oauth_family_end(family, clock_unix());
		invalid_grant(r, "this authorization code was used before");
		return;
	case CODE_BAD:
		invalid_grant(r, "Invalid or expired authorization code");
		return;
	}
	buf_over(&refresh, mem, sizeof(mem));
	if (oauth_can_refresh() &&
		oauth_refresh_begin(&refresh, family, param[CLIENT_ID], clock_unix()) < 0)
		buf_cut(&refresh, 0); /* without: the client asks again in 30 days */
	answer_tokens(r, family, buf_all(&refresh));
}

static void redeem_refresh(struct http_request *r, const struct slice *param)
{
	unsigned char family[FAMILY_ID_SIZE];
	char mem[256];
	struct buf refresh;
	int err;

	if (!param[REFRESH_TOKEN].p) {
		oauth_error(r, 400, "invalid_request", "refresh_token is required");
		return;
	}
	buf_over(&refresh, mem, sizeof(mem));
	err = oauth_refresh_next(
		&refresh, param[REFRESH_TOKEN], param[CLIENT_ID], clock_unix(), family);
	if (err == -EBADMSG)
		invalid_grant(r, "this refresh token is not good any more");
	else if (err < 0)
		oauth_error(r, 503, "temporarily_unavailable", "the sign-in could not be saved");
	else
		answer_tokens(r, family, buf_all(&refresh));
}

static const struct grant {
	const char *type;
	void (*redeem)(struct http_request *r, const struct slice *param);
} grants[] = {
	{ "authorization_code", redeem_code },
	{ "refresh_token", redeem_refresh },
	{ 0 },
};

static const struct grant *grant_find(struct slice type)
{
	for (const struct grant *g = grants; g->type; g++)
		if (slice_is(type, g->type))
			return g;
	return NULL;
}

void oauth_serve_token(struct http_request *r)
{
	static char mem[4 * BODY_MAX], client_mem[CLIENT_MEM];
	struct slice param[PARAMS];
	struct oauth_client client;
	const struct grant *grant;
	struct buf text, opened;

	buf_over(&text, mem, sizeof(mem));
	buf_over(&opened, client_mem, sizeof(client_mem));
	if (r->body.n > BODY_MAX || read_params(r, &text, param) < 0) {
		oauth_error(r, 400, "invalid_request", "a form with each parameter once is needed");
		return;
	}
	grant = grant_find(param[GRANT_TYPE]);
	if (!param[GRANT_TYPE].p)
		oauth_error(r, 400, "invalid_request", "grant_type is required");
	else if (!grant)
		oauth_error(r, 400, "unsupported_grant_type", NULL);
	else if (!read_basic(r, &text, &param[CLIENT_ID]) || !param[CLIENT_ID].p ||
		 oauth_client_open(&client, param[CLIENT_ID], &opened) < 0)
		oauth_error(r, 401, "invalid_client", "this client is not registered here");
	else if (!oauth_resource_ok(r, param[RESOURCE]))
		oauth_error(r, 400, "invalid_target", "the resource is another server's");
	else
		grant->redeem(r, param);
}
