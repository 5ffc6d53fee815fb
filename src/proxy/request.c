/* From the arguments of a call and the row of its tool to a request. */
#include <errno.h>

#include "base/percent.h"
#include "base/str.h"
#include "bounds.h"
#include "proxy/master.h"

/* --- arguments --- */

int request_arg(const struct job *j, struct slice name)
{
	const struct arg *a = j->tool->args;

	for (int i = 0; a && a[i].name; i++)
		if (slice_is(name, a[i].name))
			return i;
	return -1;
}

static struct slice arg_named(const struct job *j, const char *name)
{
	struct slice none = { 0 };
	int i = request_arg(j, slice_of(name));

	return i < 0 ? none : arg_str(j, i);
}

static int64_t number_named(const struct job *j, const char *name)
{
	int i = request_arg(j, slice_of(name));

	return i >= 0 && arg_given(j, i) ? arg_num(j, i) : 0;
}

/* A path of the master ends there: "." and ".." would lead to another one. */
static const char *segment_rule(struct slice s)
{
	return slice_is(s, ".") || slice_is(s, "..") ? "must not be . or .." : NULL;
}

static const char *tag_rule(struct slice s)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	for (size_t i = 0; i < s.n; i++)
		if (!memchr(good, s.p[i], sizeof(good) - 1))
			return "may have letters, digits, _ and - only";
	return NULL;
}

/* It goes into the head of a request. */
static const char *token_rule(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return "must be printable ASCII without blanks";
	return NULL;
}

static const struct {
	const char *name;
	int64_t max; /* of the row it goes for; 0: any. A new tag has a rule, one to delete has none
		      */
	const char *(*rule)(struct slice s);
} rules[] = {
	{ "sandbox_id", 0, segment_rule },
	{ "tag", TAG_MAX, tag_rule },
	{ "tag", SANDBOX_ID_MAX, segment_rule },
	{ "sandbox_token", 0, token_rule },
};

bool request_args_ok(struct job *j)
{
	const char *why;
	int i;

	for (size_t k = 0; k < sizeof(rules) / sizeof(*rules); k++) {
		i = request_arg(j, slice_of(rules[k].name));
		if (i < 0 || (rules[k].max && j->tool->args[i].max != rules[k].max))
			continue;
		why = rules[k].rule(arg_str(j, i));
		if (why) {
			tool_refuse(j, slice_of(rules[k].name), why);
			return false;
		}
	}
	return true;
}

/* --- the body --- */

/* A name that is empty says that the member is not to be sent. */
static bool key_of(struct slice name, char key[WIRE_NAME_MAX + 1])
{
	return name.n && str_c(name, key, WIRE_NAME_MAX + 1) == 0;
}

void request_put_number(struct jw *w, struct slice name, int64_t v)
{
	char key[WIRE_NAME_MAX + 1];

	if (key_of(name, key))
		jw_int(w, key, v);
}

void request_put_arg(struct jw *w, const struct job *j, int which, struct slice name)
{
	const struct arg *a = &j->tool->args[which];
	char key[WIRE_NAME_MAX + 1];

	if (!key_of(name, key))
		return;
	if (!arg_given(j, which)) {
		if (a->dflt)
			jw_raw(w, key, slice_of(a->dflt));
		return;
	}
	switch (a->type) {
	case ARG_STR:
		jw_str(w, key, arg_str(j, which));
		break;
	case ARG_STRS:
		jw_raw(w, key, arg_str(j, which));
		break;
	case ARG_BOOL:
		jw_bool(w, key, arg_bool(j, which));
		break;
	case ARG_INT:
	case ARG_SECONDS:
		jw_int(w, key, arg_num(j, which));
		break;
	}
}

/* A row whose name for an argument is not known for sure has it first. */
static struct slice body_make(struct job *j, const struct route *r)
{
	size_t at = 0, from = j->mem.len;
	struct member m;
	struct jw w;
	bool any = r->flags & ROUTE_EMPTY;
	int i;

	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	while (route_member(r, &at, &m)) {
		i = request_arg(j, m.arg);
		if (i < 0 || !m.names.n)
			continue;
		any = true;
		request_put_arg(&w, j, i, wire_name(m.names, 0));
	}
	jw_close(&w);
	if (!any || !method_has_body(r->method))
		return (struct slice){ 0 };
	return buf_since(&j->mem, from);
}

/* --- the rest --- */

int64_t request_limit_ms(const struct route *r, int64_t timeout)
{
	const struct master_config *c = master_config();

	switch (r->limit) {
	case LIMIT_EXEC:
		return timeout * 1000 + EXEC_MARGIN_MS;
	case LIMIT_EVAL:
		return timeout ? timeout * 1000 + EXEC_MARGIN_MS : EVAL_MS;
	case LIMIT_SLOW:
		return SLOW_MS;
	case LIMIT_SPAWN:
		return (timeout ? timeout * 1000 : c->start_timeout_ms) + SPAWN_MARGIN_MS;
	case LIMIT_PING:
		return PING_MS;
	case LIMIT_VERSION:
		return MASTER_VERSION_MS;
	case LIMIT_SHORT:
		break;
	}
	return c->http_timeout_ms;
}

void request_make(struct job *j, struct request *q)
{
	const struct route *r = route_of(j->tool->name);
	struct slice id = arg_named(j, "sandbox_id");
	int64_t timeout = number_named(j, "timeout_secs");

	if (r->limit == LIMIT_EXEC && !timeout)
		timeout = EXEC_TIMEOUT_S;
	*q = (struct request){
		.route = r,
		.id = id.n ? id : arg_named(j, "tag"),
		.token = arg_named(j, "sandbox_token"),
		.limit_ms = request_limit_ms(r, timeout),
		.keep = master_config()->max_output,
		.most = reply_max(j->tool->flags & TOOL_LIST),
	};
	q->body = body_make(j, r);
}

void request_put_target(struct buf *b, const struct route *r, struct slice id)
{
	struct slice path = slice_of(r->path);

	while (path.n) {
		buf_slice(b, str_split(&path, '{'));
		if (!path.n)
			return;
		str_split(&path, '}');
		percent_put(b, id);
	}
}

void request_put_fields(struct buf *b, const struct route *r, struct slice token)
{
	struct slice api = master_config()->token;

	if (api.n)
		buf_printf(b, "Authorization: Bearer %.*s\r\n", SLICE(api));
	if (token.n && (r->flags & ROUTE_INSIDE))
		buf_printf(b, "%.*s: %.*s\r\n", SLICE(names_of(NAMES_HEADER)), SLICE(token));
}
