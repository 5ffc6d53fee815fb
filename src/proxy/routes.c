#include "proxy/routes.h"

#include "base/str.h"

// clang-format off
static const struct route known[] = {
	{ "list_templates", "GET", "/v1/templates", "", LIMIT_SHORT, 0 },
	{ "list_snapshots", "GET", "/v1/snapshots", "", LIMIT_SHORT, 0 },
	{ "spawn_sandboxes", "POST", "/v1/sandboxes", "template tag=snapshot_tag|tag|snapshot n memory_limit_mib per_child_netns prewarm live_fork", LIMIT_SPAWN, ROUTE_ACTS },
	{ "branch_sandbox", "POST", "/v1/sandboxes/{id}/branch", "tag mode diff measure_diff wait", LIMIT_SLOW, ROUTE_ACTS | ROUTE_EMPTY },
	{ "touch_sandbox", "POST", "/v1/sandboxes/{id}/touch", "", LIMIT_SLOW, ROUTE_ACTS | ROUTE_EMPTY },
	{ "list_sandboxes", "GET", "/v1/sandboxes", "", LIMIT_SHORT, 0 },
	{ "get_sandbox", "GET", "/v1/sandboxes/{id}", "", LIMIT_SHORT, 0 },
	{ "exec_command", "POST", "/v1/sandboxes/{id}/exec", "args timeout_secs", LIMIT_EXEC, ROUTE_INSIDE | ROUTE_ACTS },
	{ "eval_code", "POST", "/v1/sandboxes/{id}/eval", "code timeout_secs", LIMIT_EVAL, ROUTE_INSIDE | ROUTE_ACTS },
	{ "ping_sandbox", "POST", "/v1/sandboxes/{id}/ping", "", LIMIT_PING, ROUTE_INSIDE },
	{ "kill_sandbox", "DELETE", "/v1/sandboxes/{id}", "", LIMIT_SHORT, 0 },
	{ "delete_snapshot", "DELETE", "/v1/snapshots/{tag}", "", LIMIT_SHORT, 0 },
	{ "version", "GET", "/version", "", LIMIT_VERSION, 0 },
};

static const struct {
	const char *key, *words;
} known_names[NAMES_COUNT] = {
	[NAMES_HEADER] = { "header", "x-sandstorm-sandbox-token" },
	[NAMES_TOKEN] = { "token", "token" },
	[NAMES_STATE] = { "state", "state status phase" },
	[NAMES_STARTED] = { "started", "running hot ready idle" },
	[NAMES_FAILED] = { "failed", "failed error dead lost exited stopped terminated deleted" },
	[NAMES_REASON] = { "reason", "reason error message failure_reason status_reason last_error" },
	[NAMES_ERROR] = { "error", "error message detail" },
};
// clang-format on

enum { ROUTES = sizeof(known) / sizeof(*known) };

static struct route rows[ROUTES];
static struct slice names[NAMES_COUNT];
static bool filled;

void routes_reset(void)
{
	memcpy(rows, known, sizeof(rows));
	for (int i = 0; i < NAMES_COUNT; i++)
		names[i] = slice_of(known_names[i].words);
	filled = true;
}

static struct route *row_at(int i)
{
	if (!filled)
		routes_reset();
	return i < ROUTES ? &rows[i] : NULL;
}

struct route *route_named(struct slice tool)
{
	for (int i = 0; row_at(i); i++)
		if (slice_is(tool, rows[i].tool))
			return &rows[i];
	return NULL;
}

const struct route *route_of(const char *tool)
{
	return route_named(slice_of(tool));
}

const struct route *route_next_read(const struct route *r)
{
	int i = r ? (int)(r - rows) + 1 : 0;

	while (row_at(i) && strcmp(rows[i].method, "GET") != 0)
		i++;
	return row_at(i);
}

void routes_json(struct jw *w)
{
	jw_array(w, NULL);
	for (int i = 0; row_at(i); i++) {
		jw_object(w, NULL);
		jw_puts(w, "tool", rows[i].tool);
		jw_puts(w, "method", rows[i].method);
		jw_puts(w, "path", rows[i].path);
		jw_bool(w, "inside", rows[i].flags & ROUTE_INSIDE);
		jw_close(w);
	}
	jw_close(w);
}

/* --- members --- */

bool method_has_body(const char *method)
{
	return strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0;
}

static struct member member_read(struct slice word)
{
	struct member m = { .names = word };

	m.arg = str_split(&m.names, '=');
	if (m.arg.n == word.n)
		m.names = m.arg;
	return m;
}

/* The member of arg in a list, or one with an empty arg. */
static struct member member_in(struct slice list, struct slice arg)
{
	struct member m;

	while (list.n) {
		m = member_read(str_word(&list));
		if (slice_eq(m.arg, arg) && arg.n)
			return m;
	}
	return (struct member){ 0 };
}

/* The members are the ones of the row, as they were changed, and then those that were added. */
bool route_member(const struct route *r, size_t *at, struct member *m)
{
	struct slice own = slice_of(r->members), rest;
	struct member changed;

	while (*at < own.n) {
		rest = slice_from(own, *at);
		*m = member_read(str_word(&rest));
		*at = own.n - rest.n;
		changed = member_in(r->changed, m->arg);
		if (changed.arg.n)
			*m = changed;
		if (m->arg.n)
			return true;
	}
	while (*at - own.n < r->changed.n) {
		rest = slice_from(r->changed, *at - own.n);
		*m = member_read(str_word(&rest));
		*at = own.n + r->changed.n - rest.n;
		if (m->arg.n && !member_in(own, m->arg).arg.n)
			return true;
	}
	return false;
}

struct slice route_wire(const struct route *r, const char *arg)
{
	struct member m;
	size_t at = 0;

	while (route_member(r, &at, &m))
		if (slice_is(m.arg, arg))
			return m.names;
	return (struct slice){ 0 };
}

struct slice wire_name(struct slice list, int i)
{
	struct slice name = str_split(&list, '|');

	while (i-- > 0 && list.n)
		name = str_split(&list, '|');
	return name;
}

int wire_count(struct slice list)
{
	int n = 0;

	for (; list.n; n++)
		str_split(&list, '|');
	return n;
}

/* --- names --- */

const char *names_key(enum names n)
{
	return known_names[n].key;
}

struct slice names_of(enum names n)
{
	row_at(0);
	return names[n];
}

void names_correct(enum names n, struct slice words)
{
	row_at(0);
	names[n] = words;
}

bool names_have(enum names n, struct slice word)
{
	struct slice list = names_of(n);

	while (list.n)
		if (str_same(str_word(&list), word) && word.n)
			return true;
	return false;
}
