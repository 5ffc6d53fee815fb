/*
 * The tools that are one request each, or one and a look at what it did. What they send is made of
 * their arguments and of their row in routes.c alone.
 */
#include "proxy/args.h"
#include "proxy/master.h"
#include "proxy/proxy.h"

/* --- objects and lists --- */

enum step object_answered(struct job *j)
{
	struct master_call *c = j->state;
	struct slice object = reply_object(c);

	if (reply_empty(c))
		return tool_json(j, LIT("{\"ok\":true}"));
	if (!c->ok)
		return master_fail(j, NULL);
	return object.n ? tool_json(j, object) : master_fail(j, "it is no object");
}

static enum step list_answered(struct job *j)
{
	struct master_call *c = j->state;
	struct slice list = reply_list(c);

	if (!c->ok)
		return master_fail(j, NULL);
	return list.n ? tool_json(j, list) : master_fail(j, "it is no list");
}

static enum step list_tool(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), list_answered);
}

static enum step get_sandbox(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), object_answered);
}

/* --- and a look at the sandbox afterwards --- */

static enum step look(struct job *j, enum step (*next)(struct job *j))
{
	struct master_call *c = j->state;
	struct request q = c->request;

	q.route = route_of("get_sandbox");
	q.body = (struct slice){ 0 };
	q.limit_ms = request_limit_ms(q.route, 0);
	master_forget(c);
	return master_send(c, &q, next);
}

static enum step touched(struct job *j)
{
	return reply_empty(j->state) ? look(j, object_answered) : object_answered(j);
}

static enum step touch_sandbox(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), touched);
}

struct branch {
	struct master_call call;
	struct slice refused; /* what the master has said to the branch */
};

static enum step branch_looked(struct job *j)
{
	struct branch *b = j->state;

	return tool_fail(j, "%.*s%s", SLICE(b->refused),
		b->call.ok ? "; the sandbox is busy (another branch is running?)" : "");
}

/* While a sandbox is branched, the predecessor says that it does not exist. */
static enum step branched(struct job *j)
{
	struct branch *b = j->state;
	struct master_call *c = &b->call;

	if (c->http.failure != HTTP_CALL_OK || c->http.status != 404 || failure_no_route(c))
		return object_answered(j);
	b->refused = master_hold(c, failure_sentence(c, NULL));
	return look(j, branch_looked);
}

static enum step branch_sandbox(struct job *j)
{
	return master_forward(j, sizeof(struct branch), branched);
}

/* --- what is gone afterwards --- */

/* The first of two requests may have done it before its connection broke. */
static bool gone_before(struct master_call *c)
{
	return c->http.again && c->http.failure == HTTP_CALL_OK && c->http.status == 404 &&
	       !failure_no_route(c);
}

static enum step gone(struct job *j, const char *what, const char *how)
{
	struct master_call *c = j->state;
	struct jw w;
	size_t at;

	if (!c->ok && !gone_before(c))
		return master_fail(j, NULL);
	at = j->mem.len;
	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	jw_str(&w, what, c->request.id);
	jw_bool(&w, how, true);
	jw_close(&w);
	return tool_json(j, buf_since(&j->mem, at));
}

static enum step killed(struct job *j)
{
	return gone(j, "id", "killed");
}

static enum step kill_sandbox(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), killed);
}

static enum step deleted(struct job *j)
{
	return gone(j, "tag", "deleted");
}

static enum step delete_snapshot(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), deleted);
}

/* --- the rows --- */

enum { READS = TOOL_READS | TOOL_JSON | TOOL_LENIENT, ACTS = TOOL_JSON | TOOL_LENIENT };

// clang-format off
static const struct arg id_args[] = { ARG_SANDBOX_ID, { 0 } };

static const struct arg branch_args[] = {
	ARG_SANDBOX_ID,
	{ "tag", ARG_STR, 0, "Name of the new snapshot: letters, digits, _ and -; left out: the master makes one", .min = 1, .max = TAG_MAX },
	{ "mode", ARG_STR, ARG_HIDDEN, "full, diff or live; of older masters" },
	{ "diff", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ "measure_diff", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ "wait", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ 0 },
};

static const struct arg snapshot_args[] = {
	{ "tag", ARG_STR, ARG_REQUIRED, "Tag of the snapshot, as list_snapshots gives it", .min = 1, .max = SANDBOX_ID_MAX },
	{ 0 },
};

const struct tool catalog_tools[] = {
	{ "list_templates", "List templates", "The templates on the master that spawn_sandboxes can start sandboxes from", NULL, READS | TOOL_LIST, list_tool },
	{ "list_snapshots", "List snapshots", "The snapshots on the master: each tag can be given to spawn_sandboxes. One whose status is writing is not ready yet", NULL, READS | TOOL_LIST, list_tool },
	{ 0 },
};

const struct tool sandbox_tools[] = {
	{ "branch_sandbox", "Branch a sandbox",
		"Take a snapshot of a running sandbox, from which further ones can be spawned; the sandbox runs on. Returns at least the tag. "
		"When its status is writing, look at list_snapshots until it is ready",
		branch_args, ACTS | TOOL_SPAWNS, branch_sandbox },
	{ "touch_sandbox", "Wake a sandbox", "Make an idle sandbox hot again, so that the next command in it does not wait", id_args, ACTS | TOOL_IDEMPOTENT | TOOL_SPAWNS, touch_sandbox },
	{ "list_sandboxes", "List sandboxes", "The sandboxes on the master, without their tokens", NULL, READS | TOOL_LIST, list_tool },
	{ "get_sandbox", "Look at a sandbox", "State and facts of one sandbox, without its token", id_args, READS, get_sandbox },
	{ 0 },
};

const struct tool ending_tools[] = {
	{ "kill_sandbox", "Kill a sandbox", "End a sandbox; what is in it and was not branched is lost", id_args, ACTS | TOOL_DESTROYS | TOOL_IDEMPOTENT, kill_sandbox },
	{ "delete_snapshot", "Delete a snapshot", "Delete a snapshot from the master, which may refuse while other snapshots depend on it", snapshot_args, ACTS | TOOL_DESTROYS | TOOL_IDEMPOTENT, delete_snapshot },
	{ 0 },
};
// clang-format on
