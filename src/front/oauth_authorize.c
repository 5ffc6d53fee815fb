/*
 * The authorization endpoint (RFC 6749 section 3.1): checks the request, shows the page, and for
 * the right password sends a code back to the client.
 */
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "front/auth.h"
#include "front/form.h"
#include "front/gate.h"
#include "front/oauth.h"
#include "front/oauth_client.h"
#include "front/oauth_code.h"
#include "front/oauth_reply.h"
#include "front/origin.h"
#include "front/page.h"
#include "front/redirect.h"
#include "loop/loop.h"

enum {
	PARAMS_MAX = 16 * KIB, /* as large as a query can be */
	CLIENT_MEM = 16 * KIB,
	PAGE_MAX = 48 * KIB,
};

enum {
	RESPONSE_TYPE,
	CLIENT_ID,
	REDIRECT_URI,
	STATE,
	CHALLENGE,
	CHALLENGE_METHOD,
	RESOURCE,
	PASSWORD,
	PARAMS
};

static const char *const names[PARAMS] = {
	[RESPONSE_TYPE] = "response_type",
	[CLIENT_ID] = "client_id",
	[REDIRECT_URI] = "redirect_uri",
	[STATE] = "state",
	[CHALLENGE] = "code_challenge",
	[CHALLENGE_METHOD] = "code_challenge_method",
	[RESOURCE] = "resource",
	[PASSWORD] = "password",
};

/* One request; all but the request itself lies in static memory, good until the next. */
struct ask {
	struct http_request *r;
	struct oauth_client client;
	struct slice param[PARAMS];
};

/* ---- what is refused ---- */

static const char too_long[] = "The program's request is too long.";

/* Nobody who could be told by a redirect is known: the person is told. */
static bool refuse_page(struct ask *a, const char *text)
{
	char mem[8 * KIB];
	struct buf page;

	buf_over(&page, mem, sizeof(mem));
	page_message(&page, "This sign-in cannot go on", text);
	oauth_html(a->r, 400, (struct slice){ 0 }, &page);
	return false;
}

static bool refuse_client(struct ask *a, const char *error, const char *text)
{
	const struct oauth_pair pairs[] = { { "error", slice_of(error) },
		{ "error_description", slice_of(text) }, { "state", a->param[STATE] }, { 0 } };

	if (!oauth_redirect(a->r, a->param[REDIRECT_URI], pairs, true))
		refuse_page(a, too_long);
	return false;
}

/* ---- checks; each answers when it gives false ---- */

static bool read_params(struct ask *a, struct slice text)
{
	static char mem[PARAMS_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (form_pick(text, names, PARAMS, a->param, &b) == 0)
		return true;
	return refuse_page(a, "The address the program sent you to is not well-formed. Go back to "
			      "the program and connect again.");
}

static bool check_client(struct ask *a)
{
	static char mem[CLIENT_MEM];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (!a->param[CLIENT_ID].p || oauth_client_open(&a->client, a->param[CLIENT_ID], &b) < 0)
		return refuse_page(a,
			"This server does not know the program that sent you here, perhaps since "
			"its token was changed. Remove this server in the program and add it "
			"again.");
	if (!a->param[REDIRECT_URI].p)
		a->param[REDIRECT_URI] = oauth_client_only_redirect(&a->client);
	if (!a->param[REDIRECT_URI].p ||
		!oauth_client_redirects(&a->client, a->param[REDIRECT_URI]))
		return refuse_page(a,
			"The program asks to send the answer to an address that it has not "
			"registered. This may be an attempt to steal access: close the page.");
	return true;
}

/* From here on the client is told. */
static bool check_request(struct ask *a)
{
	const struct slice *p = a->param;

	if (!p[RESPONSE_TYPE].p)
		return refuse_client(a, "invalid_request", "response_type is required");
	if (!slice_is(p[RESPONSE_TYPE], "code"))
		return refuse_client(a, "unsupported_response_type", "response_type must be code");
	if (!p[CHALLENGE].p || !oauth_challenge_ok(p[CHALLENGE]))
		return refuse_client(a, "invalid_request", "code_challenge of PKCE is required");
	if (p[CHALLENGE_METHOD].p && !slice_is(p[CHALLENGE_METHOD], "S256"))
		return refuse_client(a, "invalid_request", "code_challenge_method must be S256");
	if (!oauth_resource_ok(a->r, p[RESOURCE]))
		return refuse_client(a, "invalid_target", "the resource is another server's");
	return true;
}

/* A code is as long as a challenge: with one it is seen whether the way back will be open. */
static bool answer_with(struct ask *a, struct slice code, bool go)
{
	return oauth_redirect(a->r, a->param[REDIRECT_URI],
		(const struct oauth_pair[]){
			{ "code", code }, { "state", a->param[STATE] }, { 0 } },
		go);
}

/* ---- the page ---- */

static void show(struct ask *a, int status, struct slice fields, const char *problem)
{
	static char mem[PAGE_MAX];
	const struct page_field hidden[] = { { names[RESPONSE_TYPE], a->param[RESPONSE_TYPE] },
		{ names[CLIENT_ID], a->param[CLIENT_ID] },
		{ names[REDIRECT_URI], a->param[REDIRECT_URI] }, { names[STATE], a->param[STATE] },
		{ names[CHALLENGE], a->param[CHALLENGE] }, { names[CHALLENGE_METHOD], LIT("S256") },
		{ names[RESOURCE], a->param[RESOURCE] }, { 0 } };
	char server_mem[PUBLIC_URL_MAX];
	struct buf page, server;
	struct page_authorize view = {
		.client = a->client.name,
		.goes_to = redirect_shown(a->param[REDIRECT_URI]),
		.to_this_machine = redirect_kind(a->param[REDIRECT_URI]) != REDIRECT_WEB,
		.problem = problem,
		.hidden = hidden,
	};

	buf_over(&server, server_mem, sizeof(server_mem));
	oauth_put_issuer(a->r, &server);
	view.server = buf_all(&server);
	buf_over(&page, mem, sizeof(mem));
	page_put_authorize(&page, &view);
	if (page.failed || !answer_with(a, a->param[CHALLENGE], false))
		refuse_page(a, too_long);
	else
		oauth_html(a->r, status, fields, &page);
}

static void serve_page(struct ask *a)
{
	if (read_params(a, a->r->head->query) && check_client(a) && check_request(a))
		show(a, 200, (struct slice){ 0 }, NULL);
}

/* ---- the form ---- */

static void refuse_password(struct ask *a)
{
	unsigned char client[16];
	char mem[64];
	struct buf fields;
	int wait, status;

	origin_client(a->r->head, http_peer(a->r->conn), client);
	wait = rate_failure(client);
	status = wait ? 429 : 401;
	buf_over(&fields, mem, sizeof(mem));
	if (wait)
		buf_printf(&fields, "Retry-After: %d\r\n", wait);
	gate_log_refusal(a->r, status, "wrong token on the sign-in page");
	show(a, status, buf_all(&fields),
		wait ? "Too many wrong tokens: wait a minute, then try again."
		     : "That is not the token of this server. Try again.");
}

static void log_sign_in(const struct ask *a)
{
	struct log_field fields[] = {
		{ "client", .text = a->client.name },
		{ "goes_to", .text = redirect_shown(a->param[REDIRECT_URI]) },
		{ "peer" },
		{ 0 },
	};
	char mem[64];
	struct buf peer;

	buf_over(&peer, mem, sizeof(mem));
	gate_put_peer(a->r, &peer);
	fields[2].text = buf_all(&peer);
	log_event(LOG_INFO, "sign-in allowed", fields);
}

static void send_code(struct ask *a)
{
	const struct oauth_grant g = { a->param[CLIENT_ID], a->param[REDIRECT_URI],
		a->param[CHALLENGE] };
	char mem[64];
	struct buf code;

	buf_over(&code, mem, sizeof(mem));
	if (oauth_code_issue(&g, loop_now(), &code) < 0) {
		refuse_client(a, "temporarily_unavailable", "the machine has just started");
		return;
	}
	if (answer_with(a, buf_all(&code), true))
		log_sign_in(a);
	else
		refuse_page(a, too_long);
}

static void serve_form(struct ask *a)
{
	/* Another site must not be able to post here (decision 6); browsers name theirs. */
	if (!origin_same(a->r->head, http_peer(a->r->conn))) {
		refuse_page(a, "The form was sent from another site. This may be an attempt to "
			       "steal access: close the page.");
		return;
	}
	if (!read_params(a, a->r->body) || !check_client(a) || !check_request(a))
		return;
	if (auth_is_token(a->param[PASSWORD]))
		send_code(a);
	else
		refuse_password(a);
}

void oauth_serve_authorize(struct http_request *r)
{
	struct ask a = { .r = r };

	if (r->head->method == HTTP_POST)
		serve_form(&a);
	else
		serve_page(&a);
}
