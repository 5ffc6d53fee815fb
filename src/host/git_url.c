#include "host/git_url.h"

#include <limits.h>

#include "base/ascii.h"
#include "base/percent.h"
#include "base/str.h"

enum { FILE_SCHEME = sizeof "file://" - 1 };

static bool has_control(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

static bool is_helper_char(char c)
{
	return ascii_alnum(c) || c == '+' || c == '-' || c == '.';
}

static size_t helper_len(struct slice s)
{
	size_t n = 0;

	while (n < s.n && is_helper_char(s.p[n]))
		n++;
	return n;
}

static bool is_known_scheme(struct slice scheme)
{
	static const char *const names[] = { "https", "http", "ssh", "git", "git+ssh", "ssh+git",
		"ftp", "ftps" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_is(scheme, names[i]))
			return true;
	return false;
}

/* Git decodes it. */
static bool starts_with_dash(struct slice s)
{
	return str_starts(s, "-") || percent_byte(s) == '-';
}

/* Some programs take a host, or a user before it, that begins with a dash for an option. */
static bool host_has_dash(struct slice authority)
{
	const char *at = authority.n > 0 ? memrchr(authority.p, '@', authority.n) : NULL;

	return starts_with_dash(authority) ||
	       (at && starts_with_dash(slice_from(authority, (size_t)(at + 1 - authority.p))));
}

static bool has_dots(struct slice path)
{
	while (path.n > 0)
		if (slice_is(str_split(&path, '/'), ".."))
			return true;
	return false;
}

/* The path is decoded by git, so it is here: what is escaped may be a slash. */
static const char *file_rule(struct slice url)
{
	struct slice path = slice_from(url, FILE_SCHEME);
	char mem[PATH_MAX];

	if (!str_starts(path, "/"))
		return "must be file:///path: a host means nothing there";
	if (!git_url_path(url, mem, sizeof(mem)))
		return "must not hold %00 or be longer than a path can be";
	if (has_control(slice_of(mem)))
		return "must not hold control characters";
	if (has_dots(slice_of(mem)))
		return "must not hold .. in a file:// URL";
	return NULL;
}

static const char *host_rule(struct slice authority)
{
	return host_has_dash(authority) ? "must not name a host or a user that begins with a dash"
					: NULL;
}

static const char *scheme_rule(struct slice url, size_t scheme, enum git_place *place)
{
	struct slice rest = slice_from(url, scheme + strlen("://"));

	if (slice_is(slice_head(url, scheme), "file")) {
		*place = GIT_FILE_URL;
		return file_rule(url);
	}
	*place = GIT_HOST;
	if (!is_known_scheme(slice_head(url, scheme)))
		return "must be a path or begin with https://, http://, ssh://, git://, ftp:// or "
		       "file://";
	return host_rule(str_split(&rest, '/'));
}

const char *git_url_rule(struct slice url, enum git_place *place)
{
	struct slice host = url, first;

	if (url.n == 0)
		return "must not be empty";
	if (url.p[0] == '-')
		return "must not begin with a dash";
	if (has_control(url))
		return "must not hold control characters";
	if (str_starts(slice_from(url, helper_len(url)), "::"))
		return "must not name a remote helper (ext::, fd:: and the like)";
	host = str_split(&host, '/'); /* host:path, unless a slash stands before the colon */
	first = host;
	first = str_split(&first, ':');
	if (str_starts(slice_from(url, first.n), "://"))
		return scheme_rule(url, first.n, place);
	*place = first.n < host.n ? GIT_HOST : GIT_PATH;
	if (*place == GIT_PATH && url.p[0] == '~')
		return "must not begin with ~, which is not expanded here";
	return *place == GIT_HOST ? host_rule(host) : NULL;
}

bool git_url_path(struct slice url, char *mem, size_t size)
{
	struct slice rest = slice_from(url, FILE_SCHEME);
	struct buf b;
	int c;

	buf_over(&b, mem, size);
	while (rest.n > 0) {
		c = percent_byte(rest);
		if (c == '\0')
			return false;
		buf_putc(&b, c >= 0 ? (char)c : rest.p[0]);
		rest = slice_from(rest, c >= 0 ? 3 : 1);
	}
	buf_putc(&b, '\0');
	return !b.failed;
}

/* ---- the directory to clone into ---- */

static struct slice without_end(struct slice s, const char *end)
{
	size_t n = strlen(end);

	if (s.n >= n && slice_is(slice_from(s, s.n - n), end))
		s.n -= n;
	return s;
}

static struct slice without_slashes(struct slice s)
{
	while (s.n > 0 && (s.p[s.n - 1] == '/' || s.p[s.n - 1] == ' '))
		s.n--;
	return s;
}

/* "host:22" and nothing behind it: the port is no name. */
static struct slice without_port(struct slice s)
{
	size_t n = s.n;

	if (str_has(s, '/'))
		return s;
	while (n > 0 && ascii_digit(s.p[n - 1]))
		n--;
	return n > 0 && s.p[n - 1] == ':' ? slice_head(s, n - 1) : s;
}

static struct slice without_scheme_and_user(struct slice url)
{
	const char *at = str_find(url, LIT("://"));
	struct slice host;

	if (at)
		url = slice_from(url, (size_t)(at - url.p) + 3);
	host = url;
	host = str_split(&host, '/');
	at = host.n > 0 ? memrchr(host.p, '@', host.n) : NULL;
	return at ? slice_from(url, (size_t)(at + 1 - url.p)) : url;
}

struct slice git_url_name(struct slice url)
{
	struct slice s = without_slashes(without_scheme_and_user(url));
	size_t n;

	if (s.n > strlen("/.git"))
		s = without_slashes(without_end(s, "/.git"));
	s = without_port(s);
	for (n = s.n; n > 0 && s.p[n - 1] != '/' && s.p[n - 1] != ':';)
		n--;
	s = slice_from(s, n);
	n = s.n;
	s = without_end(s, ".bundle");
	return s.n < n ? s : without_end(s, ".git");
}
