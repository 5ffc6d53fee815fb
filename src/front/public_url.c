#include "front/public_url.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "front/cidr.h"
#include "front/proxies.h"

static char url[PUBLIC_URL_MAX + sizeof("https://")]; /* empty: by request */
static size_t url_n;
static struct authority url_origin;
static char own[AUTHORITY_MAX]; /* host and port we listen on */
static size_t own_n;
static unsigned own_port;
static bool own_tls;

/* --- configured --- */

static bool url_take(const char *scheme, const char *text)
{
	struct slice path, s;
	struct buf b;

	buf_over(&b, url, sizeof(url));
	buf_puts(&b, scheme);
	buf_slice(&b, str_trim(slice_of(text)));
	s = buf_all(&b);
	if (b.failed || s.n > PUBLIC_URL_MAX || !authority_parse_url(s, &url_origin, &path))
		return false;
	while (s.p[s.n - 1] == '/')
		s.n--;
	url_n = s.n;
	return true;
}

/* A server on all addresses is found on this machine's own. */
static void own_take(const char *host, unsigned port)
{
	struct slice h = slice_of(host ? host : "127.0.0.1");
	bool bracket = str_has(h, ':') && h.p[0] != '[';
	struct buf b;

	if (slice_is(h, "0.0.0.0") || slice_is(h, "::") || slice_is(h, "[::]"))
		h = LIT("localhost");
	bracket = bracket && !slice_is(h, "localhost");
	buf_over(&b, own, sizeof(own));
	buf_puts(&b, bracket ? "[" : "");
	buf_slice(&b, h);
	buf_puts(&b, bracket ? "]" : "");
	if (port)
		buf_printf(&b, ":%u", port);
	own_n = b.len;
}

int public_url_setup(const struct origin_config *c, struct slice *bad)
{
	const char *text = c->public_url ? c->public_url : c->domain;

	url_n = 0;
	own_tls = c->tls;
	own_port = c->listen_port;
	own_take(c->listen_host, c->listen_port);
	if (!text || url_take(c->public_url ? "" : "https://", text))
		return 0;
	*bad = slice_of(text);
	return -EINVAL;
}

const struct authority *public_url_origin(void)
{
	return url_n ? &url_origin : NULL;
}

/* --- by request --- */

/* The proxy nearest to the client comes first in a list. */
static struct slice first_of(struct slice list)
{
	return str_trim(str_split(&list, ','));
}

static struct slice request_host(const struct http_head *h, bool forwarded)
{
	struct slice host = first_of(h->field[FIELD_FORWARDED_HOST]);
	struct authority a;

	if (forwarded && authority_parse(host, &a))
		return host;
	host = h->field[FIELD_HOST];
	return authority_parse(host, &a) ? host : (struct slice){ own, own_n };
}

/* What a proxy says of its client's connection counts more than what ours is. */
static bool request_is_https(const struct http_head *h, bool forwarded)
{
	struct slice proto = first_of(h->field[FIELD_FORWARDED_PROTO]);

	if (forwarded && http_same(proto, "https"))
		return true;
	return own_tls && !(forwarded && http_same(proto, "http"));
}

void origin_put_url(const struct http_head *h, const unsigned char peer[16], struct buf *b)
{
	bool forwarded = proxies_trust(peer);

	if (url_n) {
		buf_put(b, url, url_n);
		return;
	}
	buf_puts(b, request_is_https(h, forwarded) ? "https://" : "http://");
	buf_slice(b, request_host(h, forwarded));
}

bool origin_put_https(const struct http_head *h, struct buf *b)
{
	struct authority a;
	bool v6;

	if (url_n) {
		buf_put(b, url, url_n);
		return true;
	}
	if (!authority_parse(h->field[FIELD_HOST], &a))
		return false;
	v6 = str_has(a.host, ':');
	buf_printf(b, "https://%s%.*s%s", v6 ? "[" : "", SLICE(a.host), v6 ? "]" : "");
	if (own_port != 443)
		buf_printf(b, ":%u", own_port);
	return true;
}
