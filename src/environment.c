#include "environment.h"

#include <errno.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/str.h"
#include "bounds.h"

static const char *const secrets[] = {
	"SANDSTORM_MCP_TOKEN",
	"MCP_AUTH_TOKEN",
	"SESSION_AUTH_TOKEN",
	"SANDSTORM_TOKEN",
	"SANDSTORM_MCP_TOKEN_FILE",
	"MCP_AUTH_TOKEN_FILE",
	"SESSION_AUTH_TOKEN_FILE",
	"SANDSTORM_TOKEN_FILE",
	/* meant for this process alone, see activation.h */
	"LISTEN_PID",
	"LISTEN_PIDFDID",
	"LISTEN_FDS",
	"LISTEN_FDNAMES",
	NULL,
};

static char file_text[ENV_FILE_MAX + 1];
static char *file_vars[CHILD_ENV_MAX + 1]; /* "NAME=value" strings inside file_text */
static char *list[CHILD_ENV_MAX + 1];

static struct slice var_name(const char *var)
{
	struct slice s = slice_of(var);

	return str_split(&s, '=');
}

static char *var_find(char *const *vars, struct slice name)
{
	for (; *vars; vars++)
		if (slice_eq(var_name(*vars), name))
			return *vars;
	return NULL;
}

const char *env_get(const char *name)
{
	char *const *const sources[] = { environ, file_vars };

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		const char *var = var_find(sources[i], slice_of(name));

		if (var && var[strlen(name)] == '=' && var[strlen(name) + 1])
			return var + strlen(name) + 1;
	}
	return NULL;
}

/* --- the file --- */

static void wipe(char *s)
{
	while (*s)
		*s++ = '\0';
}

static struct slice unquoted(struct slice v)
{
	if (v.n >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.n - 1] == v.p[0])
		return (struct slice){ v.p + 1, v.n - 2 };
	return v;
}

static bool name_ok(struct slice name)
{
	return name.n > 0 && str_only(name, "_") && !ascii_digit(name.p[0]);
}

/* Where a variable goes: a later line takes the place of an earlier one. NULL when all max places
 * are taken. */
static char **var_place(char **vars, int max, struct slice name)
{
	int i = 0;

	while (i < max && vars[i] && !slice_eq(var_name(vars[i]), name))
		i++;
	if (i == max)
		return NULL;
	if (vars[i])
		wipe(vars[i]);
	else
		vars[i + 1] = NULL;
	return &vars[i];
}

/* Packs "NAME=value" and its NUL to the left of where the line stood; out never passes what is
 * still to be read. */
static char *var_pack(char *out, struct slice name, struct slice value)
{
	memmove(out, name.p, name.n);
	out[name.n] = '=';
	memmove(out + name.n + 1, value.p, value.n);
	out[name.n + 1 + value.n] = '\0';
	return out + name.n + 1 + value.n + 1;
}

static bool line_take(struct slice line, char **out, char **vars, int max)
{
	struct slice name, value = str_trim(line);
	char **place;

	if (!value.n || value.p[0] == '#')
		return true;
	if (str_starts(value, "export "))
		value = str_trim(slice_from(value, sizeof("export ") - 1));
	if (!str_has(value, '='))
		return false;
	name = str_trim(str_split(&value, '='));
	value = unquoted(str_trim(value));
	if (!name_ok(name) || str_has(value, '\0'))
		return false;
	place = var_place(vars, max, name);
	if (!place)
		return false;
	*place = *out;
	*out = var_pack(*out, name, value);
	return true;
}

int env_file_parse(char *text, size_t n, char **vars, int max, int *line)
{
	struct slice rest = { text, n };
	char *out = text;

	vars[0] = NULL;
	for (*line = 1; rest.n; ++*line)
		if (!line_take(str_split(&rest, '\n'), &out, vars, max))
			return -EBADMSG;
	if (out < text + n) /* a secret must not stand a second time behind what was packed */
		explicit_bzero(out, (size_t)(text + n - out));
	return 0;
}

int env_file_load(const char *path, int *line)
{
	struct buf b;
	int r;

	buf_over(&b, file_text, ENV_FILE_MAX); /* one byte more is there for the parser */
	r = read_file(path, &b);
	return r < 0 ? r : env_file_parse(file_text, b.len, file_vars, CHILD_ENV_MAX, line);
}

/* --- children --- */

static bool in_words(struct slice words, struct slice name)
{
	size_t i;

	while (words.n) {
		for (i = 0; i < words.n && !memchr(", \t", words.p[i], 3); i++)
			;
		if (i && slice_eq(slice_head(words, i), name))
			return true;
		words = slice_from(words, i < words.n ? i + 1 : i);
	}
	return false;
}

static bool is_secret(struct slice name)
{
	for (const char *const *s = secrets; *s; s++)
		if (slice_is(name, *s))
			return true;
	return false;
}

/*
 * Takes var out if it is a secret. One that configures us and is only kept from children is not
 * wiped: the configuration borrows its value.
 */
static bool scrubbed(char *var, const char *more, bool (*ours)(struct slice name))
{
	struct slice name = var_name(var);
	bool secret = is_secret(name), named = more && in_words(slice_of(more), name);

	if (secret || (named && !ours(name)))
		wipe(var);
	return secret || named;
}

void env_scrub(const char *more, bool (*ours)(struct slice name))
{
	int n = 0;

	for (char **v = environ; *v; v++)
		if (!scrubbed(*v, more, ours) && n < CHILD_ENV_MAX)
			list[n++] = *v;
	list[n] = NULL;
	for (char **v = file_vars; *v; v++)
		if (!scrubbed(*v, more, ours) && !ours(var_name(*v)) &&
			!var_find(list, var_name(*v)) && n < CHILD_ENV_MAX) {
			list[n++] = *v;
			list[n] = NULL;
		}
	environ = list;
}

char *const *env_list(void)
{
	return list;
}
