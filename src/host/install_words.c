#include "host/install_words.h"

#include "base/ascii.h"
#include "base/str.h"

#define WEB "https http"
#define GIT " git+https git+http git+ssh git ssh"

/* Letters and digits are taken everywhere; of archives and local directories only the path. */
static const struct world {
	const char *first;    /* what else a name may begin with */
	const char *name;     /* what else a name may hold */
	const char *marks;    /* what begins the rest: a version, extras, an architecture */
	const char *rest;     /* what the rest may hold besides the bytes of names and marks */
	const char *aliases;  /* what may stand before a ':'; NULL: anything */
	const char *schemes;  /* of URLs; NULL: none are taken */
	const char *archives; /* ends of names that are files */
	int slashes;          /* more of them make it a path, unless it begins with '@' */
} worlds[WORLDS] = {
	[WORLD_NPM] = { /* @scope/name@^1.2, name@npm:other@1, github:user/repository#semver:^1 */
		.first = "@",
		.name = "._-/",
		.marks = "@#:",
		.rest = "^~<>=*+",
		.aliases = "npm github gitlab bitbucket gist semver",
		.schemes = WEB GIT,
		.archives = ".tgz .tar .tar.gz",
		.slashes = 1,
	},
	[WORLD_PIP] = { /* name[extra,extra]>=1.0,<2, name==1.*, name@https://... */
		.name = "._-",
		.marks = "[=<>!~",
		.rest = "],*+",
		.schemes = WEB GIT,
		.archives = ".whl .zip .tar.gz .tgz .tar .tar.bz2 .tar.xz",
	},
	[WORLD_APT] = { /* name:arch=1:2.3-4~5, name=1.*, name/release */
		.name = "._+-",
		.marks = ":=/",
		.rest = "~*",
		.archives = ".deb",
		.slashes = 1,
	},
	[WORLD_DNF] = { /* name-1.2*, name>=1.2, @group:stream/profile */
		.first = "@",
		.name = "._+-",
		.marks = ":=<>*/",
		.rest = "~^",
		.schemes = WEB,
		.archives = ".rpm",
		.slashes = 1,
	},
	[WORLD_APK] = { /* name=1.2-r3, name=~1.2, name>1, name@repository, cmd:name */
		.name = "._+-",
		.marks = "=<>~@:",
		.archives = ".apk",
	},
	[WORLD_OPKG] = { /* name, kmod-usb-* */
		.name = "._+-",
		.marks = "*",
		.schemes = WEB,
		.archives = ".ipk",
	},
};

static const char not_held[] = "must not hold";

static bool refuse(struct install_refusal *why, const char *rule)
{
	why->rule = rule;
	return false;
}

/* ---- bytes ---- */

static bool in(const char *set, char c)
{
	return set && c != '\0' && strchr(set, c);
}

/* One character of UTF-8 if it is one, so that it can be shown. */
static struct slice character(struct slice s)
{
	int n = utf8_seq(s);

	return slice_head(s, n > 0 ? (size_t)n : 1);
}

/* Are all bytes letters, digits or of one of the sets? */
static bool holds_only(
	struct slice s, const char *a, const char *b, const char *c, struct install_refusal *why)
{
	for (; s.n > 0; s = slice_from(s, 1))
		if (!ascii_alnum(s.p[0]) && !in(a, s.p[0]) && !in(b, s.p[0]) && !in(c, s.p[0])) {
			why->bad = character(s);
			return refuse(why, not_held);
		}
	return true;
}

static bool ends_with(struct slice s, struct slice end)
{
	return s.n > end.n && slice_eq(slice_from(s, s.n - end.n), end);
}

static bool is_archive(const struct world *w, struct slice s)
{
	struct slice ends = slice_of(w->archives);

	while (ends.n > 0)
		if (ends_with(s, str_split(&ends, ' ')))
			return true;
	return false;
}

/* ---- names ---- */

static size_t name_end(const struct world *w, struct slice s)
{
	size_t n = in(w->first, s.p[0]) ? 1 : 0;

	while (n < s.n && (ascii_alnum(s.p[n]) || in(w->name, s.p[n])))
		n++;
	return n;
}

/* "name@../file", "name@~/file": a path that nobody has looked at. */
static bool hides_path(struct slice s)
{
	for (size_t i = 0; i + 1 < s.n; i++) {
		if (in("@:/=", s.p[i]) && in("./", s.p[i + 1]))
			return true;
		if (s.p[i] == '~' && s.p[i + 1] == '/')
			return true;
	}
	return false;
}

/* "name@file:x" and its kin lead to files, too. */
static bool alias_ok(const struct world *w, struct slice s)
{
	struct slice alias, rest = s;

	if (!w->aliases || !str_has(s, ':'))
		return true;
	alias = str_split(&rest, ':');
	for (size_t i = alias.n; i > 0; i--)
		if (in("@#", alias.p[i - 1]))
			return str_among(slice_from(alias, i), w->aliases, ' ');
	return str_among(alias, w->aliases, ' ');
}

static bool name_ok(const struct world *w, struct slice s, struct install_refusal *why)
{
	size_t n = name_end(w, s);
	struct slice rest = slice_from(s, n);

	if (!ascii_alnum(s.p[0]) && !in(w->first, s.p[0]))
		return refuse(why, "must begin with a letter or a digit");
	if (rest.n > 0 && !in(w->marks, rest.p[0])) {
		why->bad = character(rest);
		return refuse(why, not_held);
	}
	if (!holds_only(rest, w->name, w->marks, w->rest, why))
		return false;
	if (hides_path(s))
		return refuse(why, "must not lead to a file: a local file stands alone, as ./file");
	if (!alias_ok(w, s))
		return refuse(why, "must not hold ':' but after npm, github, gitlab, bitbucket, "
				   "gist or semver");
	if (w == &worlds[WORLD_APT] && s.p[s.n - 1] == '-')
		return refuse(why, "must not end with '-', with which apt removes a package");
	return true;
}

/* ---- URLs and paths ---- */

static bool url_ok(const struct world *w, struct slice s, size_t colon, struct install_refusal *why)
{
	size_t begin = colon;

	while (begin > 0 && (ascii_alnum(s.p[begin - 1]) || in("+.-", s.p[begin - 1])))
		begin--;
	if (!w->schemes)
		return refuse(why, "must not be a URL: this manager takes none");
	if (!str_among((struct slice){ s.p + begin, colon - begin }, w->schemes, ' '))
		return refuse(why, "must be a URL of http, https or git, or no URL");
	if (str_starts(slice_from(s, colon), "://-")) /* an option for the ssh that git runs */
		return refuse(why, "must not have a host that begins with '-'");
	if (!holds_only(slice_from(s, begin), "-._~:/?#[]@&+,=%", "", "", why))
		return false;
	if (begin == 0)
		return true;
	if (s.p[begin - 1] != '@' || begin == 1)
		return refuse(why, "must be a URL, or a name, '@' and a URL");
	return name_ok(w, slice_head(s, begin - 1), why);
}

static size_t find_url(struct slice s)
{
	for (size_t i = 0; i + 2 < s.n; i++)
		if (memcmp(s.p + i, "://", 3) == 0)
			return i;
	return s.n;
}

static bool is_path(const struct world *w, struct slice s)
{
	int slashes = 0;

	for (size_t i = 0; i < s.n && s.p[i] != '#'; i++)
		slashes += s.p[i] == '/';
	if (in("./", s.p[0]) || is_archive(w, s))
		return true;
	return s.p[0] != '@' && slashes > w->slashes;
}

static bool path_ok(struct install_word *is, struct install_refusal *why)
{
	for (struct slice s = is->path; s.n > 0; s = slice_from(s, 1)) {
		char c = s.p[0];

		if (ascii_alnum(c) || in("._-+~@=,:%/", c) || (unsigned char)c >= 0x80)
			continue;
		why->bad = character(s);
		return refuse(why, not_held);
	}
	return true;
}

/* ".[test]", "x.whl[extra]" */
static void cut_extras(struct install_word *is)
{
	size_t n = is->path.n;

	if (is->path.p[n - 1] != ']')
		return;
	while (n > 0 && is->path.p[n - 1] != '[')
		n--;
	if (n < 2)
		return;
	is->extras = slice_from(is->path, n - 1);
	is->path.n = n - 1;
}

static bool extras_ok(const struct install_word *is, struct install_refusal *why)
{
	return holds_only(is->extras, "[],._-", NULL, NULL, why);
}

bool install_word(enum install_world world, struct slice word, struct install_word *is,
	struct install_refusal *why)
{
	const struct world *w = &worlds[world];
	size_t url = find_url(word);

	*is = (struct install_word){ .kind = INSTALL_NAME, .path = word };
	*why = (struct install_refusal){ 0 };
	if (word.p[0] == '-')
		return refuse(why, "must not begin with '-': options are not taken");
	if (url < word.n) {
		is->kind = INSTALL_URL;
		return url_ok(w, word, url, why);
	}
	if (world == WORLD_PIP)
		cut_extras(is);
	if (!is_path(w, is->path))
		return name_ok(w, word, why);
	is->kind = INSTALL_PATH;
	return path_ok(is, why) && extras_ok(is, why);
}
