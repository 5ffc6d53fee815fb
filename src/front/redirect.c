#include "front/redirect.h"

#include "base/str.h"
#include "bounds.h"
#include "http/authority.h"
#include "http/head.h"

/* Browsers run or show these themselves; nothing that listens stands behind them. */
static const char *const unsafe_schemes[] = { "javascript", "data", "file", "vbscript", "blob",
	"about", "filesystem", "view-source", "ftp", "ws", "wss", NULL };

static bool visible(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("\"<>\\^`{|}#", s.p[i]))
			return false;
	return s.n > 0 && s.n <= REDIRECT_MAX;
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* RFC 3986 section 3.1 */
static bool is_scheme(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!letter(s.p[i]) &&
			(i == 0 || ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '+' &&
					   s.p[i] != '-' && s.p[i] != '.')))
			return false;
	return s.n > 0;
}

static struct slice scheme_of(struct slice uri)
{
	return str_split(&uri, ':');
}

/* The part before a query, of which authority_parse_url knows nothing. */
static struct slice without_query(struct slice uri)
{
	return str_split(&uri, '?');
}

static enum redirect_kind http_kind(struct slice uri, bool https)
{
	struct authority a;
	struct slice path;

	if (!authority_parse_url(without_query(uri), &a, &path))
		return REDIRECT_REFUSED;
	if (https)
		return REDIRECT_WEB;
	return authority_is_loopback(&a) ? REDIRECT_LOOPBACK : REDIRECT_REFUSED;
}

enum redirect_kind redirect_kind(struct slice uri)
{
	struct slice scheme = scheme_of(uri);

	if (!visible(uri) || scheme.n + 1 >= uri.n || !is_scheme(scheme))
		return REDIRECT_REFUSED;
	if (http_same(scheme, "https") || http_same(scheme, "http"))
		return http_kind(uri, http_same(scheme, "https"));
	for (const char *const *s = unsafe_schemes; *s; s++)
		if (http_same(scheme, *s))
			return REDIRECT_REFUSED;
	return REDIRECT_APP;
}

bool redirect_same(struct slice registered, struct slice given)
{
	struct authority a, b;
	struct slice rest_a, rest_b, a_url = without_query(registered),
				     b_url = without_query(given);

	if (slice_eq(registered, given))
		return true;
	if (redirect_kind(registered) != REDIRECT_LOOPBACK ||
		redirect_kind(given) != REDIRECT_LOOPBACK)
		return false;
	return authority_parse_url(a_url, &a, &rest_a) && authority_parse_url(b_url, &b, &rest_b) &&
	       authority_same_host(&a, &b) && slice_eq(rest_a, rest_b) &&
	       slice_eq(slice_from(registered, a_url.n), slice_from(given, b_url.n));
}

struct slice redirect_shown(struct slice uri)
{
	struct authority a;
	struct slice path, url = without_query(uri);

	switch (redirect_kind(uri)) {
	case REDIRECT_WEB:
		return authority_parse_url(url, &a, &path) ? slice_head(url, url.n - path.n) : url;
	case REDIRECT_LOOPBACK:
		return LIT("a program on your own computer");
	case REDIRECT_APP:
		return slice_head(uri, scheme_of(uri).n + 1);
	case REDIRECT_REFUSED:
		break;
	}
	return (struct slice){ 0 };
}
