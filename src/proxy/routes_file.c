/* SANDSTORM_ROUTES: the lines of a file that correct the two tables of routes.c. */
#include <errno.h>

#include "base/str.h"
#include "proxy/proxy.h"
#include "proxy/routes.h"

enum { PATH_TEMPLATE_MAX = 256 };

/* --- what stands in a line --- */

static bool name_ok(struct slice s)
{
	return s.n > 0 && s.n <= WIRE_NAME_MAX && str_only(s, "-_");
}

static const char *method_known(struct slice word)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", NULL };

	for (const char *const *m = methods; *m; m++)
		if (slice_is(word, *m))
			return *m;
	return NULL;
}

static bool has_arg(const struct route *r, struct slice arg)
{
	const struct tool *t = sandbox_tool(slice_of(r->tool));

	for (const struct arg *a = t ? t->args : NULL; a && a->name; a++)
		if (slice_is(arg, a->name))
			return true;
	return false;
}

/* A placeholder needs an argument to stand for. */
static bool placeholder_ok(const struct route *r, struct slice name)
{
	return (slice_is(name, "id") && has_arg(r, LIT("sandbox_id"))) ||
	       (slice_is(name, "tag") && has_arg(r, LIT("tag")));
}

static bool path_ok(const struct route *r, struct slice path)
{
	struct slice rest = path;
	char c;

	if (!path.n || path.p[0] != '/' || path.n > PATH_TEMPLATE_MAX)
		return false;
	while (rest.n) {
		c = rest.p[0];
		rest = slice_from(rest, 1);
		if (c <= ' ' || c > '~' || c == '#' || c == '}')
			return false;
		if (c == '{' && (!str_has(rest, '}') || !placeholder_ok(r, str_split(&rest, '}'))))
			return false;
	}
	return true;
}

static const char *member_fault(const struct route *r, struct slice word)
{
	struct slice names = word, arg = str_split(&names, '=');

	if (arg.n == word.n)
		return "write each member of the body as ARGUMENT=NAME";
	if (!has_arg(r, arg))
		return "that tool has no such argument, see sandstorm-mcp tools --json";
	while (names.n)
		if (!name_ok(str_split(&names, '|')))
			return "a member's name has letters, digits, - and _; it may be left empty";
	return NULL;
}

static const char *members_fault(const struct route *r, struct slice rest)
{
	const char *why = NULL;

	while (rest.n && !why)
		why = member_fault(r, str_word(&rest));
	return why;
}

/* --- a line --- */

/* The word, ended by a NUL in place of the blank behind it. */
static const char *ended(struct slice word)
{
	char *p = (char *)word.p; /* the file's own text */

	p[word.n] = '\0';
	return p;
}

static const char *take_route(struct slice tool, struct slice rest)
{
	struct route *r = route_named(tool);
	const char *method, *why;
	struct slice path;

	if (slice_is(tool, "wait_for_text"))
		return "wait_for_text goes by the row of exec_command";
	if (!r)
		return "begin with a tool's name, with version, or with LIST =, see the README";
	method = method_known(str_word(&rest));
	if (!method)
		return "the second word is GET, POST, PUT, PATCH or DELETE";
	path = str_word(&rest);
	if (!path_ok(r, path))
		return "the path begins with / and may have {id} or {tag}, whichever the tool has";
	rest = str_trim(rest);
	if (rest.n && !method_has_body(method))
		return "GET and DELETE have no body, so no members either";
	why = members_fault(r, rest);
	if (why)
		return why;
	r->method = method;
	r->path = ended(path);
	r->changed = rest;
	return NULL;
}

static const char *take_names(struct slice key, struct slice words)
{
	int n = 0;

	words = str_trim(words);
	while (n < NAMES_COUNT && !slice_is(key, names_key((enum names)n)))
		n++;
	if (n == NAMES_COUNT)
		return "the lists are header, token, state, started, failed, reason and error";
	if (!words.n)
		return "give at least one word behind the =";
	if (n == NAMES_HEADER && !name_ok(words))
		return "header is one word of letters, digits, - and _";
	for (struct slice rest = words; rest.n;)
		if (!name_ok(str_word(&rest)))
			return "a word has letters, digits, - and _";
	names_correct((enum names)n, words);
	return NULL;
}

static const char *line_take(struct slice line)
{
	struct slice rest = str_trim(line), first = str_word(&rest), after = rest;

	if (!first.n || first.p[0] == '#')
		return NULL;
	if (slice_is(str_word(&after), "="))
		return take_names(first, after);
	return take_route(first, rest);
}

int routes_correct(char *text, size_t n, int *line, const char **why)
{
	struct slice rest = { text, n };

	text[n] = '\0';
	for (*line = 1; rest.n; ++*line) {
		*why = line_take(str_split(&rest, '\n'));
		if (*why)
			return -EBADMSG;
	}
	return 0;
}
