#include "http/https_url.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "http/authority.h"
#include "http/field.h"

enum { HTTPS_PORT = 443 };

static bool begins(struct slice s, const char *prefix)
{
	return http_same(slice_head(s, strlen(prefix)), prefix);
}

/* Everything up to the path. */
static struct slice authority_part(struct slice url)
{
	struct slice rest = slice_from(url, sizeof("https://") - 1);

	return str_split(&rest, '/');
}

/* What is wrong, in the order in which people look; NULL: nothing that is seen at once. */
static const char *complaint(struct slice url)
{
	if (url.n > MASTER_URL_MAX)
		return "is longer than 512 bytes";
	if (url.n && !http_is_target(url))
		return "has blanks, control characters or letters beyond ASCII";
	if (begins(url, "http://"))
		return "is not verified: only https:// is spoken, also on this machine";
	if (!begins(url, "https://"))
		return "must begin with https://";
	if (str_has(authority_part(url), '@'))
		return "holds a user name, for which there is no use: the token is SANDSTORM_TOKEN";
	if (str_has(url, '?') || str_has(url, '#'))
		return "has a query or a fragment";
	return NULL;
}

int http_origin_parse(struct http_origin *o, struct slice url, const char **why)
{
	struct authority a;
	struct slice path;

	*o = (struct http_origin){ 0 };
	*why = complaint(url);
	if (*why)
		return -EINVAL;
	*why = "is no URL such as https://127.0.0.1:8080 or https://[::1]:8080/prefix";
	while (url.n && url.p[url.n - 1] == '/')
		url.n--;
	if (!authority_parse_url(url, &a, &path))
		return -EINVAL;
	o->port = (unsigned)a.port;
	if (str_c(a.host, o->host, sizeof(o->host)) < 0 ||
		str_c(path, o->prefix, sizeof(o->prefix)) < 0)
		return -EINVAL;
	*why = NULL;
	return 0;
}

const char *http_origin_shown(const char *url)
{
	const char *at = strrchr(url, '@');

	return at ? at : url;
}

void http_origin_put_host(const struct http_origin *o, struct buf *b)
{
	bool v6 = strchr(o->host, ':') != NULL;

	if (o->port != HTTPS_PORT)
		authority_put(b, o->host, o->port);
	else
		buf_printf(b, "%s%s%s", v6 ? "[" : "", o->host, v6 ? "]" : "");
}

void http_origin_put(const struct http_origin *o, struct buf *b)
{
	buf_puts(b, "https://");
	http_origin_put_host(o, b);
	buf_puts(b, o->prefix);
}
