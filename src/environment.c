#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"

static const char *const secrets[] = {
	"SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", "SESSION_AUTH_TOKEN", "SANDSTORM_TOKEN",
	"SANDSTORM_MCP_TOKEN_FILE", "MCP_AUTH_TOKEN_FILE", "SESSION_AUTH_TOKEN_FILE", "SANDSTORM_TOKEN_FILE", NULL,
};

static char file_text[ENV_FILE_MAX];
static char *file_vars[CHILD_ENV_MAX + 1];	/* "NAME=value" strings inside file_text */
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

static ssize_t file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (len < sizeof(file_text) && (n = read(fd, file_text + len, sizeof(file_text) - len)) != 0) {
		if (n < 0) {
			n = -errno;
			close(fd);
			return n;
		}
		len += (size_t)n;
	}
	close(fd);
	return len < sizeof(file_text) ? (ssize_t)len : -E2BIG;
}

static struct slice unquoted(struct slice v)
{
	if (v.n >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.n - 1] == v.p[0])
		return (struct slice){ v.p + 1, v.n - 2 };
	return v;
}

static bool name_ok(struct slice name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t i = 0;

	while (i < name.n && memchr(letters, name.p[i], sizeof(letters) - 1))
		i++;
	return name.n && i == name.n && !(name.p[0] >= '0' && name.p[0] <= '9');
}

/* Packs "NAME=value" and its NUL to the left of where the line stood; out never passes what is still to be read. */
static bool line_take(struct slice line, char **out, int *count)
{
	struct slice name, value = str_trim(line);

	if (!value.n || value.p[0] == '#')
		return true;
	if (str_starts(value, "export "))
		value = str_trim(slice_from(value, sizeof("export ") - 1));
	if (!str_has(value, '='))
		return false;
	name = str_trim(str_split(&value, '='));
	value = unquoted(str_trim(value));
	if (!name_ok(name) || str_has(value, '\0') || *count == CHILD_ENV_MAX)
		return false;
	file_vars[(*count)++] = *out;
	memmove(*out, name.p, name.n);
	(*out)[name.n] = '=';
	memmove(*out + name.n + 1, value.p, value.n);
	*out += name.n + 1 + value.n;
	*(*out)++ = '\0';
	return true;
}

int env_file_load(const char *path, int *line)
{
	ssize_t n = file_read(path);
	struct slice rest = { file_text, n < 0 ? 0 : (size_t)n };
	char *out = file_text;
	int count = 0;

	if (n < 0)
		return (int)n;
	for (*line = 1; rest.n; ++*line)
		if (!line_take(str_split(&rest, '\n'), &out, &count))
			return -EBADMSG;
	return 0;
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

static bool is_secret(struct slice name, const char *more)
{
	for (const char *const *s = secrets; *s; s++)
		if (slice_is(name, *s))
			return true;
	return more && in_words(slice_of(more), name);
}

static void wipe(char *s)
{
	while (*s)
		*s++ = '\0';
}

void env_scrub(const char *more, bool (*ours)(struct slice name))
{
	int n = 0;

	for (char **v = environ; *v; v++) {
		if (is_secret(var_name(*v), more))
			wipe(*v);
		else if (n < CHILD_ENV_MAX)
			list[n++] = *v;
	}
	for (char **v = file_vars; *v && n < CHILD_ENV_MAX; v++) {
		struct slice name = var_name(*v);

		if (is_secret(name, more))
			wipe(*v);
		else if (!ours(name) && !var_find(list, name))
			list[n++] = *v;
	}
	list[n] = NULL;
	environ = list;
}

char *const *env_list(void)
{
	return list;
}
