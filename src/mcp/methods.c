#include "mcp/methods.h"

#include <errno.h>

#include "mcp/meta.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"
#include "version.h"

enum {
	TTL_MS = 300000
}; /* lists never change while the server runs; a client may keep them for so long */

static const char *instructions;

/* --- results that describe the server --- */

static void put_server(struct job *j)
{
	jw_object(&j->w, "capabilities");
	jw_object(&j->w, "tools");
	jw_close(&j->w);
	jw_close(&j->w);
	if (instructions)
		jw_puts(&j->w, "instructions", instructions);
}

static void put_server_info(struct job *j)
{
	jw_object(&j->w, "serverInfo");
	jw_puts(&j->w, "name", SERVER_NAME);
	jw_puts(&j->w, "title", SERVER_TITLE);
	jw_puts(&j->w, "version", SERVER_VERSION);
	jw_close(&j->w);
}

/* Answers sit behind a credential, so that only the client itself may keep them. */
static void put_caching(struct job *j)
{
	jw_int(&j->w, "ttlMs", TTL_MS);
	jw_puts(&j->w, "cacheScope", "private");
}

static enum step initialize(struct job *j)
{
	struct slice asked;
	const struct era *era;

	if (j->batch_at >= 0)
		return rpc_error(j, RPC_INVALID, "initialize cannot be part of a batch");
	if (json_str(&j->doc, json_get(&j->doc, j->params, "protocolVersion"), &asked) < 0)
		return rpc_error(j, RPC_PARAMS, "initialize needs protocolVersion, a string");
	era = era_find(asked);
	if (!era || era->modern)
		era = era_legacy();
	if (j->sink->agreed)
		j->sink->agreed(j, era);
	rpc_result_begin(j);
	jw_puts(&j->w, "protocolVersion", era->version);
	put_server_info(j);
	put_server(j);
	return rpc_result_end(j);
}

static enum step discover(struct job *j)
{
	rpc_result_begin(j);
	era_list(&j->w, "supportedVersions");
	put_server(j);
	put_caching(j);
	return rpc_result_end(j);
}

static enum step ping(struct job *j)
{
	rpc_result_begin(j);
	return rpc_result_end(j);
}

/* --- tools --- */

static enum step tools_list(struct job *j)
{
	int cursor = json_get(&j->doc, j->params, "cursor");

	if (cursor >= 0 && json_type(&j->doc, cursor) != JSON_NULL)
		return rpc_error(j, RPC_PARAMS, "Unknown cursor: the list has one page");
	rpc_result_begin(j);
	tools_put(&j->w, "tools");
	if (j->era->modern)
		put_caching(j);
	return rpc_result_end(j);
}

static enum step tools_call(struct job *j)
{
	enum { NAME, ARGUMENTS, MEMBERS };
	static const char *const names[] = { "name", "arguments" };
	int m[MEMBERS];
	struct slice name;
	const struct tool *tool;

	if (json_pick(&j->doc, j->params, names, MEMBERS, m) == -EEXIST)
		return rpc_error(j, RPC_PARAMS, "name or arguments stands twice");
	if (json_str(&j->doc, m[NAME], &name) < 0)
		return rpc_error(j, RPC_PARAMS, "tools/call needs name, a string");
	if (json_type(&j->doc, m[ARGUMENTS]) == JSON_NULL)
		m[ARGUMENTS] = -1;
	if (m[ARGUMENTS] >= 0 && json_type(&j->doc, m[ARGUMENTS]) != JSON_OBJECT)
		return rpc_error(j, RPC_PARAMS, "arguments must be an object");
	tool = tool_find(name);
	if (!tool)
		return rpc_error(j, RPC_PARAMS, "Unknown tool: %.*s",
			SLICE(slice_head(name, NAME_SHOWN_MAX)));
	if ((tool->flags & TOOL_SPAWNS) && !job_may_spawn(j))
		return rpc_error(j, RPC_INTERNAL,
			"Server is busy: %d commands are running, wait for one to end",
			JOBS_MAX - JOBS_KEPT);
	return tool_call(j, tool, m[ARGUMENTS]);
}

/* --- subscriptions: nothing of ours ever changes, so that the stream ends as soon as it is
 * acknowledged --- */

static void put_subscription(struct job *j)
{
	jw_raw(&j->w, "io.modelcontextprotocol/subscriptionId", j->id);
}

static void put_acknowledged(struct job *j)
{
	jw_init(&j->w, &j->out);
	jw_object(&j->w, NULL);
	jw_puts(&j->w, "jsonrpc", "2.0");
	jw_puts(&j->w, "method", "notifications/subscriptions/acknowledged");
	jw_object(&j->w, "params");
	jw_object(&j->w, "notifications");
	jw_close(&j->w);
	jw_object(&j->w, "_meta");
	put_subscription(j);
	jw_close(&j->w);
	jw_close(&j->w);
	jw_close(&j->w);
}

static enum step listen(struct job *j)
{
	put_acknowledged(j);
	buf_putc(&j->out, '\n');
	j->mark = j->out.len;
	rpc_result_begin(j);
	meta_open(j);
	put_subscription(j);
	jw_close(&j->w);
	return rpc_result_close(j);
}

/* --- the table --- */

enum { LEGACY = 1, MODERN = 2 };

static const struct method {
	const char *name;
	unsigned eras;
	enum step (*run)(struct job *j);
} methods[] = {
	{ "initialize", LEGACY, initialize },
	{ "ping", LEGACY, ping },
	{ "server/discover", MODERN, discover },
	{ "tools/list", LEGACY | MODERN, tools_list },
	{ "tools/call", LEGACY | MODERN, tools_call },
	{ "subscriptions/listen", MODERN, listen },
	{ 0 },
};

static enum step request(struct job *j, struct slice method)
{
	unsigned era = j->era->modern ? MODERN : LEGACY;

	for (const struct method *m = methods; m->name; m++)
		if ((m->eras & era) && slice_is(method, m->name))
			return m->run(j);
	return rpc_error(j, RPC_NO_METHOD, "Method not found: %.*s",
		SLICE(slice_head(method, NAME_SHOWN_MAX)));
}

/* --- notifications --- */

struct cancel {
	const struct job *by;
	struct slice id; /* of a string its characters, of a number its text */
	bool string;
};

/* An id may be spelled with other escapes than the request had. */
static bool id_matches(const struct job *j, int at, const struct cancel *c)
{
	if (c->string)
		return json_str_eq(&j->doc, at, c->id);
	return json_is_integer(&j->doc, at) && slice_eq(json_raw(&j->doc, at), c->id);
}

/* Those of a batch whose turn is still to come will not have one. */
static void cancel_later(struct job *j, const struct cancel *c)
{
	int at = j->batch_at;

	for (int left = j->batch_left; left-- > 0;) {
		at = json_next(&j->doc, 0, at);
		if (id_matches(j, json_get(&j->doc, at, "id"), c))
			j->cancelled |= UINT32_C(1) << left;
	}
}

/* Only calls of tools can be cancelled: everything else is answered before a cancel can arrive. */
static void cancel_matching(struct job *j, void *ctx)
{
	const struct cancel *c = ctx;

	if (j == c->by || j->sink != c->by->sink || j->peer != c->by->peer || !j->tool)
		return;
	if (!j->muted && id_matches(j, j->id_token, c))
		job_cancel(j);
	else
		cancel_later(j, c);
}

static void notification(struct job *j, struct slice method)
{
	struct cancel c = { .by = j };
	int id;

	if (!slice_is(method, "notifications/cancelled") || !j->sink->cancel_by_id)
		return;
	id = json_get(&j->doc, j->params, "requestId");
	if (id < 0)
		return;
	c.string = json_str(&j->doc, id, &c.id) == 0;
	if (!c.string)
		c.id = json_raw(&j->doc, id);
	job_each(cancel_matching, &c);
}

void methods_setup(const char *text)
{
	static const struct rpc_methods table = { request, notification };

	instructions = text;
	rpc_setup(&table);
}
