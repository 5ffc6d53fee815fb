#include "front/oauth_reply.h"

#include "base/percent.h"
#include "base/str.h"
#include "bounds.h"
#include "front/gate.h"
#include "front/origin.h"
#include "front/redirect.h"
#include "json/json_write.h"

enum {
	FIELDS_MAX = 6 * KIB, /* a redirect URI, a state and a code among them */
	ERROR_MAX = 1 * KIB,
};

/* RFC 6749 section 5.1 */
static const char no_store[] = "Cache-Control: no-store\r\nPragma: no-cache\r\n";

/*
 * Decision 38: no-referrer would make browsers send "Origin: null" with the form, and form-action
 * would stop the way back to the client.
 */
static const char page_fields[] =
	"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
	"frame-ancestors 'none'; base-uri 'none'\r\n"
	"X-Frame-Options: DENY\r\n"
	"X-Content-Type-Options: nosniff\r\n"
	"Referrer-Policy: same-origin\r\n";

static void begin_fields(const struct http_request *r, struct buf *fields, char *mem)
{
	buf_over(fields, mem, FIELDS_MAX);
	buf_puts(fields, no_store);
	gate_fields(r->head, fields);
}

void oauth_json(struct http_request *r, int status, struct slice more, const struct buf *body)
{
	char mem[FIELDS_MAX];
	struct buf fields;

	begin_fields(r, &fields, mem);
	buf_slice(&fields, more);
	http_answer(r->conn, status, "application/json", buf_all(&fields), buf_all(body));
}

void oauth_error(struct http_request *r, int status, const char *error, const char *text)
{
	char mem[ERROR_MAX];
	struct buf body;
	struct jw w;

	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	jw_str(&w, "error", slice_of(error));
	if (text)
		jw_str(&w, "error_description", slice_of(text));
	jw_close(&w);
	oauth_json(r, status,
		status == 401 ? LIT("WWW-Authenticate: Basic realm=\"sandstorm\"\r\n")
			      : (struct slice){ 0 },
		&body);
}

void oauth_html(struct http_request *r, int status, struct slice more, const struct buf *body)
{
	char mem[FIELDS_MAX];
	struct buf fields;

	begin_fields(r, &fields, mem);
	buf_puts(&fields, page_fields);
	buf_slice(&fields, more);
	http_answer(r->conn, status, "text/html; charset=utf-8", buf_all(&fields), buf_all(body));
}

void oauth_redirect(struct http_request *r, struct slice uri, const struct oauth_pair *pairs)
{
	char mem[FIELDS_MAX], issuer_mem[PUBLIC_URL_MAX];
	char before = str_has(uri, '?') ? '&' : '?';
	struct buf fields, issuer;

	buf_over(&issuer, issuer_mem, sizeof(issuer_mem));
	oauth_put_issuer(r, &issuer);
	begin_fields(r, &fields, mem);
	buf_puts(&fields, page_fields);
	buf_puts(&fields, "Location: ");
	buf_slice(&fields, uri);
	for (; pairs->name; pairs++) {
		if (!pairs->value.p)
			continue;
		buf_printf(&fields, "%c%s=", before, pairs->name);
		percent_put(&fields, pairs->value);
		before = '&';
	}
	buf_printf(&fields, "%ciss=", before);
	percent_put(&fields, buf_all(&issuer));
	buf_puts(&fields, "\r\n");
	if (fields.failed)
		oauth_error(r, 400, "invalid_request", "redirect_uri and state are too long");
	else
		http_answer(r->conn, 302, NULL, buf_all(&fields), (struct slice){ 0 });
}

void oauth_put_issuer(const struct http_request *r, struct buf *b)
{
	origin_put_url(r->head, http_peer(r->conn), b);
}

/* The MCP URL, or the origin, which older clients send; a slash at the end makes no difference. */
bool oauth_resource_ok(const struct http_request *r, struct slice resource)
{
	char mem[PUBLIC_URL_MAX];
	struct slice own, rest;
	struct buf b;

	if (!resource.p)
		return true;
	buf_over(&b, mem, sizeof(mem));
	oauth_put_issuer(r, &b);
	own = buf_all(&b);
	if (!slice_eq(slice_head(resource, own.n), own))
		return false;
	rest = slice_from(resource, own.n);
	return rest.n == 0 || slice_is(rest, "/") || slice_is(rest, "/mcp") ||
	       slice_is(rest, "/mcp/");
}
