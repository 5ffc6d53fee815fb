/*
 * Asking a master for sandboxes. What its members are called is not known for sure, nor how many it
 * makes at a time (sandbox-tools.md section 6.3): what it turns out to want is kept for the life of
 * the process.
 */
#include "base/str.h"
#include "bounds.h"
#include "http/field.h"
#include "proxy/spawn.h"

enum { SPAWN_REPLY_MAX = 4 * MIB }; /* a thousand sandboxes; their tokens are told nowhere else */

static int alias_known = -1;
static bool n_refused;

/* Does text hold the word, with nothing of another word beside it? */
static bool has_word(struct slice text, struct slice word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	bool begins = true;

	for (; text.n >= word.n && word.n; text = slice_from(text, 1)) {
		if (begins && slice_eq(slice_head(text, word.n), word) &&
			(text.n == word.n || !strchr(letters, text.p[word.n])))
			return true;
		begins = !strchr(letters, text.p[0]);
	}
	return false;
}

/* In either case. */
static bool has_text(struct slice text, const char *part)
{
	size_t n = strlen(part);

	for (; text.n >= n; text = slice_from(text, 1))
		if (http_same(slice_head(text, n), part))
			return true;
	return false;
}

/* "unknown field `n`", "n: extra inputs are not permitted", but not "n must be at most 16". */
static bool refuses_n(struct slice text, struct slice n)
{
	static const char *const words[] = { "unknown", "unexpected", "unrecognized", "unsupported",
		"extra", "additional", "not allowed", "not permitted", NULL };

	if (!has_word(text, n))
		return false;
	for (const char *const *w = words; *w; w++)
		if (has_text(text, *w))
			return true;
	return false;
}

static struct slice tag_names(void)
{
	return route_wire(route_of("spawn_sandboxes"), "tag");
}

static bool cannot_template(const struct job *j, struct slice text)
{
	return arg_given(j, SPAWN_TEMPLATE) && has_word(text, wire_name(tag_names(), 0));
}

/*
 * Nothing was made. Should it be asked again in other words? Then the first refusal is what will be
 * told if these do no better.
 */
static bool rephrase(struct spawn *s)
{
	struct master_call *c = &s->call;
	struct job *j = c->job;
	const struct route *r = c->request.route;

	if (c->http.failure != HTTP_CALL_OK || (c->http.status != 400 && c->http.status != 422))
		return false;
	if (!n_refused && s->boxes.wanted - s->boxes.made > 1 &&
		refuses_n(failure_text(c), route_wire(r, "n"))) {
		n_refused = true;
		return true;
	}
	if (!arg_given(j, SPAWN_TAG) || alias_known >= 0 || s->boxes.made ||
		s->alias + 1 >= wire_count(tag_names()))
		return false;
	if (s->alias++ == 0)
		s->refused = master_hold(c, failure_sentence(c, NULL));
	return true;
}

/* None was made. */
static enum step post_failed(struct job *j)
{
	struct spawn *s = j->state;
	struct master_call *c = &s->call;
	int status = c->http.failure == HTTP_CALL_OK ? c->http.status : 0;
	struct slice said;

	if (status != 400 && status != 422)
		return master_fail(j, NULL);
	if (s->refused.n)
		return tool_fail(j, "%.*s", SLICE(s->refused));
	said = failure_sentence(c, NULL);
	return tool_fail(j, "%.*s%s", SLICE(said),
		cannot_template(j, failure_text(c))
			? "; this master cannot start from a template; give tag"
			: "");
}

/* What is wrong with a reply that should tell of new sandboxes; NULL: nothing. */
static const char *take(struct spawn *s)
{
	if (arg_given(s->call.job, SPAWN_TAG))
		alias_known = s->alias;
	return reply_empty(&s->call) ? "it is empty" : boxes_take(&s->boxes, &s->call);
}

static enum step posted(struct job *j)
{
	struct spawn *s = j->state;
	struct master_call *c = &s->call;
	const char *why = NULL;

	s->posting = false;
	if (c->ok)
		why = take(s);
	else if (rephrase(s))
		return spawn_make(j);
	else if (!s->boxes.made)
		return post_failed(j);
	if (why && !s->boxes.made)
		return master_fail(j, why);
	if (why || !c->ok)
		s->boxes.error = master_hold(c, failure_sentence(c, why));
	if (s->boxes.error.n || s->boxes.made >= s->boxes.wanted)
		return spawn_look(j);
	return spawn_make(j);
}

static struct slice body_make(struct spawn *s, const struct route *r)
{
	struct job *j = s->call.job;
	int left = s->boxes.wanted - s->boxes.made, i;
	size_t at = 0, from = j->mem.len;
	struct member m;
	struct jw w;

	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	while (route_member(r, &at, &m)) {
		i = request_arg(j, m.arg);
		if (i == SPAWN_N && left > 1 && !n_refused)
			request_put_number(&w, wire_name(m.names, 0), left);
		else if (i >= 0 && i != SPAWN_N && m.names.n)
			request_put_arg(
				&w, j, i, wire_name(m.names, i == SPAWN_TAG ? s->alias : 0));
	}
	jw_close(&w);
	return buf_since(&j->mem, from);
}

enum step spawn_make(struct job *j)
{
	struct spawn *s = j->state;
	const struct route *r = route_of(j->tool->name);
	struct request q = {
		.route = r,
		.limit_ms = request_limit_ms(r, arg_num(j, SPAWN_START)),
		.keep = master_config()->max_output,
		.most = SPAWN_REPLY_MAX,
	};

	if (alias_known > s->alias)
		s->alias = alias_known;
	master_forget(&s->call);
	q.body = body_make(s, r);
	if (master_send(&s->call, &q, posted) != STEP_WAIT)
		return spawn_give_up(j);
	s->posting = true;
	j->cancel = spawn_make_cancel;
	return STEP_WAIT;
}
