/* spawn_sandboxes: the tool, its outcome, and what must not be left behind; see spawn.h. */
#include "proxy/spawn.h"

#include "bounds.h"
#include "proxy/args.h"
#include "proxy/proxy.h"

enum {
	REMOVE_MS = 10 * 1000,
	UNDO_MS = 2 * 1000, /* sandbox-tools.md section 6.3, step 8 */
};

/* --- the end --- */

static bool to_remove(const struct spawn *s, const struct box *x)
{
	return !x->end.removed && (s->all || x->life == LIFE_FAILED);
}

static struct doomed *remove_next(struct removal *r)
{
	struct spawn *s = container_of(r, struct spawn, removal);

	while (s->removing < s->boxes.made) {
		struct box *x = &s->boxes.box[s->removing++];

		if (to_remove(s, x))
			return &x->end;
	}
	return NULL;
}

static void remove_done(struct removal *r)
{
	job_wake(container_of(r, struct spawn, removal)->call.job);
}

static void remove_begin(struct spawn *s, int64_t limit_ms)
{
	s->removing = 0;
	s->removal.next = remove_next;
	s->removal.done = remove_done;
	removal_start(&s->removal, limit_ms);
}

static enum step removed(struct job *j)
{
	struct spawn *s = j->state;

	return boxes_answer_failure(&s->boxes, &s->call);
}

/* Cancelled while the failed ones are deleted: now all are. */
static void remove_cancel(struct job *j)
{
	struct spawn *s = j->state;

	removal_abort(&s->removal);
	job_wake(j);
}

enum step spawn_finish(struct job *j)
{
	struct spawn *s = j->state;

	if (boxes_complete(&s->boxes))
		return boxes_answer(&s->boxes, &s->call);
	j->cancel = remove_cancel;
	remove_begin(s, REMOVE_MS);
	return job_wait(j, removed);
}

static enum step given_up(struct job *j)
{
	return tool_fail(j, "no memory for the call: the server's budget is used up; the sandboxes "
			    "that it had made are deleted");
}

enum step spawn_give_up(struct job *j)
{
	struct spawn *s = j->state;

	if (!s->boxes.made)
		return STEP_DONE; /* the answer stands already */
	s->all = true;
	j->cancel = remove_cancel;
	remove_begin(s, REMOVE_MS);
	return job_wait(j, given_up);
}

/* --- nobody is left to be told --- */

static void patience_over(struct timer *t)
{
	struct spawn *s = container_of(t, struct spawn, patience);

	master_abort(&s->call);
	job_wake(s->call.job);
}

/* A request that makes sandboxes may still tell which they are. */
void spawn_make_cancel(struct job *j)
{
	struct spawn *s = j->state;

	if (s->call.http.sent) {
		s->until = loop_now() + UNDO_MS;
		s->patience.fire = patience_over;
		timer_set(&s->patience, UNDO_MS / 2);
	} else {
		master_abort(&s->call);
		job_wake(j);
	}
}

/* What runs now is the end, and it is short. */
static void undo_cancel(struct job *j)
{
	(void)j;
}

static enum step undone(struct job *j)
{
	(void)j;
	return STEP_DONE;
}

static enum step undo(struct job *j)
{
	struct spawn *s = j->state;

	timer_clear(&s->patience);
	if (s->posting && s->call.ok && !reply_empty(&s->call))
		boxes_take(&s->boxes, &s->call);
	if (!s->boxes.made)
		return STEP_DONE;
	if (!s->until)
		s->until = loop_now() + UNDO_MS;
	s->all = true;
	j->cancel = undo_cancel;
	remove_begin(s, s->until - loop_now());
	return job_wait(j, undone);
}

static void spawn_cleanup(struct job *j)
{
	struct spawn *s = j->state;

	timer_clear(&s->patience);
	removal_abort(&s->removal);
	master_cleanup(j);
}

static void put_progress(struct job *j, struct buf *b)
{
	const struct spawn *s = j->state;

	buf_printf(b, "%d of %d sandboxes started", boxes_count(&s->boxes, LIFE_STARTED),
		s->boxes.wanted);
}

/* --- the tool --- */

static enum step spawn_sandboxes(struct job *j)
{
	struct spawn *s;

	if (!request_args_ok(j))
		return STEP_DONE;
	if (arg_given(j, SPAWN_TEMPLATE) == arg_given(j, SPAWN_TAG))
		return tool_refuse(j, LIT("template"), "give either template or tag, and not both");
	s = master_new(j, sizeof(*s));
	if (!s)
		return STEP_DONE;
	j->cleanup = spawn_cleanup;
	j->undo = undo;
	s->call.put_progress = put_progress;
	s->boxes.wanted = arg_given(j, SPAWN_N) ? (int)arg_num(j, SPAWN_N) : 1;
	s->boxes.box = buf_alloc(&j->mem, (size_t)s->boxes.wanted * sizeof(*s->boxes.box));
	if (!s->boxes.box)
		return tool_fail(j, "no memory for the call: the server's budget is used up");
	master_keep(&s->call);
	return spawn_make(j);
}

// clang-format off
static const struct arg spawn_args[] = {
	[SPAWN_TEMPLATE] = { "template", ARG_STR, 0, "Name of a template, as list_templates gives it; either this or tag", .min = 1, .max = SANDBOX_ID_MAX },
	[SPAWN_TAG] = { "tag", ARG_STR, 0, "Tag of a snapshot to fork from, as list_snapshots gives it; either this or template", .min = 1, .max = TAG_MAX, .alias = "snapshot_tag" },
	[SPAWN_N] = { "n", ARG_INT, 0, "How many", "1", .min = 1, .max = 1000 },
	[SPAWN_START] = { "start_timeout_secs", ARG_INT, 0, "Seconds within which all must run, else they are deleted and it is an error; keep it below the time your client waits for a tool. Left out: as the server has it, mostly 60", .min = 1, .max = 600 },
	{ "memory_limit_mib", ARG_INT, ARG_HIDDEN, "of older masters" },
	{ "per_child_netns", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ "prewarm", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ "live_fork", ARG_BOOL, ARG_HIDDEN, "of older masters" },
	{ 0 },
};

const struct tool spawn_tools[] = {
	{ "spawn_sandboxes", "Spawn sandboxes",
		"Start sandboxes from a template or from a snapshot and wait until they run. Returns an array with id and token of each. Keep the tokens: they are told only "
		"here, and exec_command, eval_code, wait_for_text and ping_sandbox need them as sandbox_token. A program that ends soon after it was started "
		"is not noticed here: commands fail then",
		spawn_args, TOOL_JSON | TOOL_LIST | TOOL_LENIENT | TOOL_SPAWNS | TOOL_WAITS, spawn_sandboxes },
	{ 0 },
};
// clang-format on
