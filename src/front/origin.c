#include "front/origin.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "front/proxies.h"
#include "front/public_url.h"
#include "http/authority.h"

static const char *allowed_origins, *allowed_hosts;

/* --- lists from the configuration --- */

/* The next word of a comma list that is not empty; false at the end. */
static bool word_next(struct slice *list, struct slice *word)
{
	do {
		if (!list->n)
			return false;
		*word = str_trim(str_split(list, ','));
	} while (!word->n);
	return true;
}

/* An origin as people write it, which may end with a slash. */
static bool parse_listed(struct slice word, struct authority *a)
{
	if (word.p[word.n - 1] == '/')
		word.n--;
	return authority_parse_origin(word, a);
}

static int list_check(
	const char *list, bool (*parse)(struct slice s, struct authority *a), struct slice *bad)
{
	struct slice rest = slice_of(list ? list : ""), word;
	struct authority a;

	while (word_next(&rest, &word))
		if (!parse(word, &a)) {
			*bad = word;
			return -EINVAL;
		}
	return 0;
}

int origin_setup(const struct origin_config *c, struct slice *bad)
{
	int r = public_url_setup(c, bad);

	if (r == 0)
		r = proxies_setup(c->trusted_proxies, bad);
	if (r == 0)
		r = list_check(c->allowed_origins, parse_listed, bad);
	if (r == 0)
		r = list_check(c->allowed_hosts, authority_parse, bad);
	allowed_origins = r == 0 ? c->allowed_origins : NULL;
	allowed_hosts = r == 0 ? c->allowed_hosts : NULL;
	return r;
}

/* --- checks --- */

bool origin_host_ok(const struct http_head *h)
{
	struct slice rest = slice_of(allowed_hosts ? allowed_hosts : ""), word;
	struct authority host, listed;

	if (!allowed_hosts)
		return true;
	if (!authority_parse(h->field[FIELD_HOST], &host))
		return false;
	while (word_next(&rest, &word))
		if (authority_parse(word, &listed) && authority_same_host(&host, &listed))
			return true;
	return false;
}

static bool is_http(const struct authority *a)
{
	return http_same(a->scheme, "http") || http_same(a->scheme, "https");
}

static bool is_listed(const struct authority *origin)
{
	struct slice rest = slice_of(allowed_origins ? allowed_origins : ""), word;
	struct authority listed;

	while (word_next(&rest, &word))
		if (parse_listed(word, &listed) && authority_same_origin(origin, &listed))
			return true;
	return false;
}

static bool is_allowed(struct slice value)
{
	const struct authority *own = public_url_origin();
	struct authority origin;

	if (!authority_parse_origin(value, &origin))
		return false;
	if (is_http(&origin) && authority_is_loopback(&origin))
		return true;
	return (own && authority_same_origin(&origin, own)) || is_listed(&origin);
}

bool origin_ok(const struct http_head *h)
{
	return !http_has(h, FIELD_ORIGIN) || is_allowed(h->field[FIELD_ORIGIN]);
}

bool origin_same(const struct http_head *h, const unsigned char peer[16])
{
	struct authority origin, host, own;
	struct slice path;
	char mem[PUBLIC_URL_MAX];
	struct buf url;

	if (!http_has(h, FIELD_ORIGIN))
		return true;
	if (!authority_parse_origin(h->field[FIELD_ORIGIN], &origin))
		return false;
	if (authority_parse(h->field[FIELD_HOST], &host) && authority_same_host(&origin, &host))
		return true;
	buf_over(&url, mem, sizeof(mem));
	origin_put_url(h, peer, &url);
	return authority_parse_url(buf_all(&url), &own, &path) &&
	       authority_same_origin(&origin, &own);
}

/* --- CORS --- */

void origin_put_cors(const struct http_head *h, struct buf *b)
{
	if (!http_has(h, FIELD_ORIGIN) || !origin_ok(h))
		return;
	buf_puts(b, "Access-Control-Allow-Origin: ");
	buf_slice(b, h->field[FIELD_ORIGIN]);
	buf_puts(b, "\r\nVary: Origin\r\nAccess-Control-Expose-Headers: Mcp-Session-Id, "
		    "MCP-Protocol-Version, WWW-Authenticate, Retry-After\r\n");
}

static bool is_asked(struct slice list, const char *name)
{
	struct slice word;

	while (word_next(&list, &word))
		if (http_same(word, name))
			return true;
	return false;
}

/* What browser clients send, mcp.md section 8.1. Our spelling goes out, not the client's bytes. */
static void put_allowed_headers(struct slice asked, struct buf *b)
{
	static const char *const known[] = { "Accept", "Accept-Language", "Authorization",
		"Content-Language", "Content-Type", "Last-Event-ID", "MCP-Protocol-Version",
		"Mcp-Session-Id", "Mcp-Method", "Mcp-Name" };
	const char *before = "Access-Control-Allow-Headers: ";

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!is_asked(asked, known[i]))
			continue;
		buf_puts(b, before);
		buf_puts(b, known[i]);
		before = ", ";
	}
	if (before[0] == ',')
		buf_puts(b, "\r\n");
}

void origin_put_preflight(const struct http_head *h, struct buf *b)
{
	buf_puts(b, "Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS\r\n");
	put_allowed_headers(h->field[FIELD_REQUEST_HEADERS], b);
	buf_puts(b, "Access-Control-Max-Age: 600\r\n");
}
