/*
 * An address that is taken is a path, a file URL or another host's, by the rules git reads it with;
 * it is no option and no remote helper. The name it gives to a directory is one part of it.
 */
#include "fuzz.h"

#include <limits.h>

#include "base/str.h"
#include "host/git_url.h"

/* Of url_is_local_not_ssh in git: no colon, or a slash before it. */
static bool is_local(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '/')
			return true;
		if (s.p[i] == ':')
			return false;
	}
	return true;
}

static void is_harmless(struct slice s)
{
	size_t scheme = 0;

	MUST(s.n > 0 && s.p[0] != '-');
	for (size_t i = 0; i < s.n; i++)
		MUST((unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f);
	while (scheme < s.n &&
		(s.p[scheme] == '+' || s.p[scheme] == '-' || s.p[scheme] == '.' ||
			(s.p[scheme] >= '0' && s.p[scheme] <= '9') ||
			((s.p[scheme] | 0x20) >= 'a' && (s.p[scheme] | 0x20) <= 'z')))
		scheme++;
	MUST(!str_starts(slice_from(s, scheme), "::"));
}

static void is_file_url(struct slice s)
{
	char path[PATH_MAX];
	struct slice rest;

	MUST(str_starts(s, "file:///"));
	MUST(git_url_path(s, path, sizeof(path)));
	MUST(path[0] == '/');
	for (rest = slice_of(path); rest.n > 0;)
		MUST(!slice_is(str_split(&rest, '/'), ".."));
}

static void is_host(struct slice s)
{
	struct slice rest = s, scheme = str_split(&rest, ':');

	MUST(!is_local(s));
	MUST(!str_starts(rest, "//") ||
		(scheme.n > 0 && !str_starts(rest, "//-") && !str_starts(rest, "//%2d")));
}

static void name(struct slice s)
{
	struct slice n = git_url_name(s);

	MUST(n.n == 0 || (n.p >= s.p && n.p + n.n <= s.p + s.n));
	MUST(!str_has(n, '/') && !str_has(n, ':'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size };
	enum git_place place;

	if (size == 0)
		return 0;
	name(s);
	if (git_url_rule(s, &place))
		return 0;
	is_harmless(s);
	switch (place) {
	case GIT_PATH:
		MUST(is_local(s) && s.p[0] != '~');
		break;
	case GIT_FILE_URL:
		is_file_url(s);
		break;
	case GIT_HOST:
		is_host(s);
		break;
	}
	return 0;
}
