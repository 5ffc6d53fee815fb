#include "host/session_env.h"

#include "base/ascii.h"
#include "base/str.h"
#include "bounds.h"

enum { NAME_MAX_SHOWN = 100 };

static bool is_name(struct slice s)
{
	return s.n > 0 && str_only(s, "_") && !ascii_digit(s.p[0]);
}

static const char *const *refuse(struct buf *why, struct slice name, const char *reason)
{
	buf_printf(why, "%.*s: %s", SLICE(slice_head(name, NAME_MAX_SHOWN)), reason);
	return NULL;
}

/* A value as text: false when it is none. */
static bool value_text(struct json *d, int at, struct slice *value)
{
	switch (json_type(d, at)) {
	case JSON_STRING:
		return json_str(d, at, value) == 0;
	case JSON_NUMBER:
	case JSON_TRUE:
	case JSON_FALSE:
		*value = json_raw(d, at);
		return true;
	default:
		return false;
	}
}

static const char *variable(struct buf *mem, struct slice name, struct slice value)
{
	char *v = buf_alloc(mem, name.n + value.n + 2);

	if (!v)
		return NULL;
	memcpy(v, name.p, name.n);
	v[name.n] = '=';
	memcpy(v + name.n + 1, value.p, value.n);
	return v;
}

/* Why a member cannot be a variable; NULL: it is one. */
static const char *fault_of(struct json *d, int key, struct slice *name, struct slice *value)
{
	if (json_str(d, key, name) < 0 || !is_name(*name))
		return "not a name for a variable";
	if (slice_is(*name, "SANDSTORM_JOB"))
		return "the server itself sets this variable";
	if (!value_text(d, json_value(key), value))
		return "the value must be a string";
	return str_has(*value, '\0') ? "the value must not contain NUL" : NULL;
}

const char *const *session_env(struct json *d, int at, struct buf *mem, struct buf *why)
{
	const char *fault, **env;
	struct slice name = LIT("env"), value;
	int n = 0, count = json_count(d, at);

	if (json_type(d, at) != JSON_OBJECT)
		return refuse(why, name, "must be an object");
	if (count > CHILD_ENV_MORE)
		return refuse(why, name, "more variables than a command may get");
	env = buf_alloc(mem, ((size_t)count + 1) * sizeof(*env));
	for (int key = json_first(d, at); env && key >= 0; key = json_next(d, at, key)) {
		fault = fault_of(d, key, &name, &value);
		if (fault)
			return refuse(why, name, fault);
		env[n] = variable(mem, name, value);
		if (!env[n++])
			break;
	}
	if (mem->failed)
		buf_puts(why, "no memory for it");
	return mem->failed ? NULL : env;
}
