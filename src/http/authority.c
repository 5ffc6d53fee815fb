#include "http/authority.h"

#include "base/address.h"
#include "base/str.h"
#include "bounds.h"
#include "http/head.h"

/* Puts the host into a, *rest becomes what follows it. */
static bool host_take(struct slice *rest, struct authority *a)
{
	unsigned char addr[16];
	size_t i = 0;

	if (str_starts(*rest, "[")) {
		if (!str_has(*rest, ']'))
			return false;
		*rest = slice_from(*rest, 1);
		a->host = str_split(rest, ']');
		return str_has(a->host, ':') && address_parse(a->host, addr);
	}
	while (i < rest->n && rest->p[i] != ':')
		i++;
	a->host = slice_head(*rest, i);
	*rest = slice_from(*rest, i);
	return a->host.n > 0 && str_only(a->host, ".-_");
}

/* ":8080"; an empty port is the default one. */
static bool port_take(struct slice s, struct authority *a)
{
	int64_t port;

	if (!s.n)
		return true;
	if (s.p[0] != ':')
		return false;
	if (s.n == 1)
		return true;
	if (s.p[1] == '-' || str_int(slice_from(s, 1), &port) < 0 || port < 1 || port > 65535)
		return false;
	a->port = (int)port;
	return true;
}

bool authority_parse(struct slice s, struct authority *a)
{
	*a = (struct authority){ 0 };
	return s.n <= AUTHORITY_MAX && host_take(&s, a) && port_take(s, a);
}

static int default_port(struct slice scheme)
{
	if (http_same(scheme, "http"))
		return 80;
	return http_same(scheme, "https") ? 443 : 0;
}

/* Position of "://", or the length. */
static size_t scheme_end(struct slice s)
{
	size_t i = 0;

	while (i < s.n && !str_starts(slice_from(s, i), "://"))
		i++;
	return i;
}

bool authority_parse_origin(struct slice s, struct authority *a)
{
	struct slice scheme = slice_head(s, scheme_end(s));

	if (scheme.n == s.n || scheme.n == 0 || !str_only(scheme, "+-."))
		return false;
	if (!authority_parse(slice_from(s, scheme.n + sizeof("://") - 1), a))
		return false;
	a->scheme = scheme;
	if (!a->port)
		a->port = default_port(scheme);
	return true;
}

/* "//" at the start would be an authority again, as in "https://https://h". */
static bool is_path(struct slice s)
{
	if (str_starts(s, "//"))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("?#\"\\<>", s.p[i]))
			return false;
	return true;
}

bool authority_parse_url(struct slice url, struct authority *a, struct slice *path)
{
	size_t i = scheme_end(url) + sizeof("://") - 1;

	while (i < url.n && url.p[i] != '/')
		i++;
	if (!authority_parse_origin(slice_head(url, i), a) || !default_port(a->scheme))
		return false;
	*path = slice_from(url, i);
	return is_path(*path);
}

bool authority_same_host(const struct authority *a, const struct authority *b)
{
	return str_same(a->host, b->host);
}

bool authority_same_origin(const struct authority *a, const struct authority *b)
{
	return str_same(a->scheme, b->scheme) && authority_same_host(a, b) && a->port == b->port;
}

bool authority_is_loopback(const struct authority *a)
{
	unsigned char addr[16];

	return http_same(a->host, "localhost") ||
	       (address_parse(a->host, addr) && address_is_loopback(addr));
}

void authority_put(struct buf *b, const char *host, unsigned port)
{
	bool bare_v6 = strchr(host, ':') && host[0] != '[';

	buf_printf(b, "%s%s%s:%u", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", port);
}
