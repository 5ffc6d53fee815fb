#include "secrets.h"

#include <errno.h>

#include "base/file.h"
#include "base/secret.h"
#include "base/str.h"
#include "environment.h"

const char *const secret_mcp[] = { "SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", NULL };

/* White space around it, the CR of a Windows file above all, could be in no header. */
static int value_take(struct secret *s, struct slice value)
{
	value = str_trim(value);
	if (value.n > SECRET_MAX)
		return -E2BIG;
	memcpy(s->text, value.p, value.n);
	s->n = value.n;
	return 1;
}

static int file_take(struct secret *s)
{
	char mem[SECRET_MAX];
	struct buf b;
	int r;

	buf_over(&b, mem, sizeof(mem));
	r = read_file(s->path, &b);
	if (r == 0)
		r = value_take(s, buf_all(&b));
	secret_wipe(mem, sizeof(mem));
	return r;
}

static const char *file_named(const char *name)
{
	char mem[64];

	return str_printf(mem, sizeof(mem), "%s_FILE", name) < 0 ? NULL : env_get(mem);
}

int secret_load(struct secret *s, const char *const *names)
{
	const char *value;

	*s = (struct secret){ 0 };
	for (; *names; names++) {
		s->name = *names;
		value = env_get(*names);
		if (value)
			return value_take(s, slice_of(value));
		value = file_named(*names);
		if (value && str_c(slice_of(value), s->path, sizeof(s->path)) < 0)
			return -ENAMETOOLONG;
		if (value)
			return file_take(s);
	}
	return 0;
}

int secret_reread(struct secret *s)
{
	return s->path[0] ? file_take(s) : 0;
}
