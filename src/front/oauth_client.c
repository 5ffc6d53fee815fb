#include "front/oauth_client.h"

#include <errno.h>

#include "base/clock.h"
#include "base/str.h"
#include "bounds.h"
#include "front/capsule.h"
#include "front/oauth_token.h"
#include "front/redirect.h"
#include "json/json_write.h"

static const char invalid_redirect[] = "invalid_redirect_uri";
static const char invalid_metadata[] = "invalid_client_metadata";

/* ---- registering ---- */

static const char *refuse(const char *error, const char *text, const char **why)
{
	*why = text;
	return error;
}

static const char *check_redirects(struct json *d, int list, const char **why)
{
	struct slice uri;
	int n = json_count(d, list);

	if (json_type(d, list) != JSON_ARRAY || n == 0)
		return refuse(invalid_redirect, "redirect_uris required", why);
	if (n > REDIRECTS_MAX)
		return refuse(invalid_redirect, "too many redirect_uris", why);
	for (int at = json_first(d, list); at >= 0; at = json_next(d, list, at)) {
		if (json_str(d, at, &uri) < 0)
			return refuse(invalid_redirect, "redirect_uris must be strings", why);
		if (redirect_kind(uri) == REDIRECT_REFUSED)
			return refuse(invalid_redirect,
				"a redirect URI must be https, http to a loopback address, or an "
				"app's own scheme, without a fragment",
				why);
	}
	return NULL;
}

static void put_redirects(struct jw *w, const char *key, struct json *d, int list)
{
	struct slice uri;

	jw_array(w, key);
	for (int at = json_first(d, list); at >= 0; at = json_next(d, list, at))
		if (json_str(d, at, &uri) == 0)
			jw_str(w, NULL, uri);
	jw_close(w);
}

/* Members as short as can be: the client_id travels in every request. */
static void put_id(struct buf *b, struct json *d, int list, struct slice name)
{
	char mem[CLIENT_ID_MAX];
	struct buf payload;
	struct jw w;

	buf_over(&payload, mem, sizeof(mem));
	jw_init(&w, &payload);
	jw_object(&w, NULL);
	jw_str(&w, "n", name);
	put_redirects(&w, "r", d, list);
	jw_close(&w);
	if (payload.failed)
		b->failed = true;
	else
		capsule_put(b, CAPSULE_CLIENT, buf_all(&payload));
}

static void put_information(
	struct jw *w, struct slice id, struct json *d, int list, struct slice name)
{
	jw_object(w, NULL);
	jw_str(w, "client_id", id);
	jw_int(w, "client_id_issued_at", clock_unix());
	jw_str(w, "client_name", name);
	put_redirects(w, "redirect_uris", d, list);
	jw_puts(w, "token_endpoint_auth_method", "none");
	jw_array(w, "grant_types");
	jw_puts(w, NULL, "authorization_code");
	if (oauth_can_refresh())
		jw_puts(w, NULL, "refresh_token");
	jw_close(w);
	jw_array(w, "response_types");
	jw_puts(w, NULL, "code");
	jw_close(w);
	jw_close(w);
}

const char *oauth_client_register(
	struct slice body, struct buf *mem, struct buf *out, const char **why)
{
	static const char *const names[] = { "redirect_uris", "client_name" };
	struct slice name = { 0 };
	char id_mem[CLIENT_ID_MAX];
	const char *error;
	struct buf id;
	struct json d;
	struct jw w;
	int at[2];

	if (json_parse(&d, (char *)body.p, body.n, mem) < 0 || json_pick(&d, 0, names, 2, at) < 0)
		return refuse(invalid_metadata, "Invalid JSON body", why);
	error = check_redirects(&d, at[0], why);
	if (error)
		return error;
	if (at[1] >= 0 && json_type(&d, at[1]) != JSON_NULL && json_str(&d, at[1], &name) < 0)
		return refuse(invalid_metadata, "client_name must be a string", why);
	name = slice_head(name, CLIENT_NAME_MAX);
	buf_over(&id, id_mem, sizeof(id_mem));
	put_id(&id, &d, at[0], name);
	if (id.failed)
		return refuse(invalid_redirect, "redirect_uris too long", why);
	jw_init(&w, out);
	put_information(&w, buf_all(&id), &d, at[0], name);
	return NULL;
}

/* ---- using it ---- */

int oauth_client_open(struct oauth_client *c, struct slice id, struct buf *mem)
{
	static const char *const names[] = { "n", "r" };
	struct slice payload;
	int at[2], r = capsule_open(mem, CAPSULE_CLIENT, id, &payload);

	if (r == 0)
		r = json_parse(&c->doc, (char *)payload.p, payload.n, mem);
	if (r == 0)
		r = json_pick(&c->doc, 0, names, 2, at);
	if (r == 0)
		r = json_str(&c->doc, at[0], &c->name);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	c->id = id;
	c->redirects = at[1];
	return 0;
}

bool oauth_client_redirects(struct oauth_client *c, struct slice uri)
{
	struct slice known;

	for (int at = json_first(&c->doc, c->redirects); at >= 0;
		at = json_next(&c->doc, c->redirects, at))
		if (json_str(&c->doc, at, &known) == 0 && redirect_same(known, uri))
			return true;
	return false;
}

struct slice oauth_client_only_redirect(struct oauth_client *c)
{
	struct slice uri = { 0 };

	if (json_count(&c->doc, c->redirects) != 1 ||
		json_str(&c->doc, json_first(&c->doc, c->redirects), &uri) < 0)
		return (struct slice){ 0 };
	return uri;
}
