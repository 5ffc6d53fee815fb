#include "front/oauth_reply.h"

#include "base/percent.h"
#include "base/str.h"
#include "bounds.h"
#include "http/authority.h"
#include "front/gate.h"
#include "front/origin.h"
#include "front/redirect.h"
#include "json/json_write.h"

enum { ERROR_MAX = 1 * KIB };

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
	buf_over(fields, mem, HTTP_ANSWER_FIELDS);
	buf_puts(fields, no_store);
	gate_fields(r->head, fields);
}

void oauth_json(struct http_request *r, int status, struct slice more, const struct buf *body)
{
	char mem[HTTP_ANSWER_FIELDS];
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
	jw_puts(&w, "error", error);
	if (text)
		jw_puts(&w, "error_description", text);
	jw_close(&w);
	/* where it was tried (RFC 6749 section 5.2): else a browser would ask for a password */
	oauth_json(r, status,
		status == 401 && http_has(r->head, FIELD_AUTHORIZATION)
			? LIT("WWW-Authenticate: Basic realm=\"sandstorm\"\r\n")
			: (struct slice){ 0 },
		&body);
}

void oauth_html(struct http_request *r, int status, struct slice more, const struct buf *body)
{
	char mem[HTTP_ANSWER_FIELDS];
	struct buf fields;

	begin_fields(r, &fields, mem);
	buf_puts(&fields, page_fields);
	buf_slice(&fields, more);
	http_answer(r->conn, status, "text/html; charset=utf-8", buf_all(&fields), buf_all(body));
}

static void put_redirect(const struct http_request *r, struct slice uri,
	const struct oauth_pair *pairs, struct buf *fields)
{
	char before = str_has(uri, '?') ? '&' : '?';
	char issuer_mem[PUBLIC_URL_MAX];
	struct buf issuer;

	buf_over(&issuer, issuer_mem, sizeof(issuer_mem));
	oauth_put_issuer(r, &issuer);
	buf_puts(fields, page_fields);
	buf_puts(fields, "Location: ");
	buf_slice(fields, uri);
	for (; pairs->name; pairs++) {
		if (!pairs->value.p)
			continue;
		buf_printf(fields, "%c%s=", before, pairs->name);
		percent_put(fields, pairs->value);
		before = '&';
	}
	buf_printf(fields, "%ciss=", before);
	percent_put(fields, buf_all(&issuer));
	buf_puts(fields, "\r\n");
}

bool oauth_redirect(
	struct http_request *r, struct slice uri, const struct oauth_pair *pairs, bool go)
{
	char mem[HTTP_ANSWER_FIELDS];
	struct buf fields;

	begin_fields(r, &fields, mem);
	put_redirect(r, uri, pairs, &fields);
	if (go && !fields.failed)
		http_answer(r->conn, 302, NULL, buf_all(&fields), (struct slice){ 0 });
	return !fields.failed;
}

void oauth_put_issuer(const struct http_request *r, struct buf *b)
{
	origin_put_url(r->head, http_peer(r->conn), b);
}

/*
 * The MCP URL as it was typed, with a query perhaps, or the origin, which older clients send;
 * capitals in the name, the port of the scheme and a slash at the end make no difference.
 */
bool oauth_resource_ok(const struct http_request *r, struct slice resource)
{
	struct authority own, named;
	struct slice base, path;
	char mem[PUBLIC_URL_MAX];
	struct buf b;

	if (!resource.p)
		return true;
	buf_over(&b, mem, sizeof(mem));
	oauth_put_issuer(r, &b);
	if (!authority_parse_url(buf_all(&b), &own, &base) ||
		!authority_parse_url(str_split(&resource, '?'), &named, &path) ||
		!authority_same_origin(&own, &named) || !slice_eq(slice_head(path, base.n), base))
		return false;
	path = slice_from(path, base.n);
	return path.n == 0 || slice_is(path, "/") || http_path_is(path, "/mcp");
}
