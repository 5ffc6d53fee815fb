#include "front/session_body.h"

#include <errno.h>

#include "base/str.h"
#include "host/git_ref.h"
#include "host/session.h"
#include "bounds.h"

enum {
	TTL_DEFAULT = 30, /* minutes */
	EXTEND_DEFAULT = 15,
	OWNER_MAX = 39, /* of GitHub */
	REPO_MAX = 100,
};

static bool refuse(struct buf *why, const char *text)
{
	buf_puts(why, text);
	return false;
}

static bool refuse_member(struct buf *why, const char *name, const char *rule)
{
	buf_printf(why, "%s: %s", name, rule);
	return false;
}

/* --- members --- */

static bool pick(struct json *d, const char *const *names, int count, int *at, struct buf *why)
{
	int r = d->n > 0 ? json_pick(d, 0, names, count, at) : -EINVAL;

	if (r == -EEXIST)
		return refuse(why, "Invalid JSON: a member stands twice");
	return r == 0 || refuse(why, "Invalid JSON: the body must be an object");
}

static bool is_absent(const struct json *d, int at)
{
	return at < 0 || json_type(d, at) == JSON_NULL;
}

/* A whole number, as the text of one too; what lies beyond an int64_t is as good as its end. */
static bool whole_number(struct json *d, int at, int64_t *out)
{
	struct slice text;
	int r = -EBADMSG;

	if (json_type(d, at) == JSON_NUMBER) {
		text = json_raw(d, at);
		r = str_milli(text, out, NULL);
		*out /= 1000;
	} else if (json_str(d, at, &text) == 0) {
		text = str_trim(text);
		r = str_int(text, out);
	}
	if (r == -ERANGE)
		*out = str_starts(text, "-") ? INT64_MIN : INT64_MAX;
	return r == 0 || r == -ERANGE;
}

/* Minutes between 1 and SESSION_TTL_MAX. */
static bool take_minutes(
	struct json *d, int at, const char *name, int64_t dflt, int64_t *out, struct buf *why)
{
	*out = dflt;
	if (at < 0)
		return true;
	if (!whole_number(d, at, out))
		return refuse_member(why, name, "must be an integer");
	if (*out >= 1 && *out <= SESSION_TTL_MAX)
		return true;
	buf_printf(why, "%s: must be between 1 and %d", name, SESSION_TTL_MAX);
	return false;
}

/* A string that may be absent or null, then empty. */
static bool take_text(struct json *d, int at, const char *name, struct slice *out, struct buf *why)
{
	*out = (struct slice){ "", 0 };
	return is_absent(d, at) || json_str(d, at, out) == 0 ||
	       refuse_member(why, name, "must be a string");
}

/* --- create --- */

static bool take_type(struct json *d, int at, struct slice *type, struct buf *why)
{
	if (json_str(d, at, type) < 0 || type->n == 0)
		return refuse_member(why, "type", "field required");
	if (type->n <= SESSION_TYPE_BYTES)
		return true;
	buf_printf(why, "type: must be at most %d bytes long", SESSION_TYPE_BYTES);
	return false;
}

static bool take_object(struct json *d, int *at, const char *name, struct buf *why)
{
	if (is_absent(d, *at))
		*at = -1;
	return *at < 0 || json_type(d, *at) == JSON_OBJECT ||
	       refuse_member(why, name, "must be an object");
}

static bool take_context(struct json *d, int at, struct create_body *b, struct buf *why)
{
	b->context = at;
	if (!take_object(d, &b->context, "context", why))
		return false;
	b->env = json_get(d, b->context, "env");
	return take_object(d, &b->env, "context.env", why);
}

/* What a name on GitHub is made of; it cannot be an option or lead elsewhere. */
static bool is_hub_name(struct slice s, size_t most)
{
	return s.n > 0 && s.n <= most && str_only(s, "-_.") && s.p[0] != '-' && !slice_is(s, ".") &&
	       !slice_is(s, "..");
}

static bool take_repo(struct slice text, struct create_body *b, struct buf *why)
{
	b->repo = text;
	b->owner = text.n > 0 ? str_split(&b->repo, '/') : text;
	return text.n == 0 ||
	       (is_hub_name(b->owner, OWNER_MAX) && is_hub_name(b->repo, REPO_MAX)) ||
	       refuse_member(why, "requirements.repo", "must be \"owner/name\", as on github.com");
}

static bool take_requirements(struct json *d, int at, struct create_body *b, struct buf *why)
{
	enum { REPO, BRANCH, MEMBERS };
	static const char *const names[] = { "repo", "branch" };
	struct slice repo;
	const char *rule;
	int m[MEMBERS];

	if (!take_object(d, &at, "requirements", why))
		return false;
	if (json_pick(d, at, names, MEMBERS, m) == -EEXIST)
		return refuse_member(why, "requirements", "a member stands twice");
	if (!take_text(d, m[REPO], "requirements.repo", &repo, why) ||
		!take_text(d, m[BRANCH], "requirements.branch", &b->branch, why) ||
		!take_repo(repo, b, why))
		return false;
	if (b->branch.n == 0)
		b->branch = LIT("main");
	rule = git_branch_rule(b->branch);
	return !rule || refuse_member(why, "requirements.branch", rule);
}

bool session_body_create(struct json *d, struct create_body *b, struct buf *why)
{
	enum { TYPE, TTL, CONTEXT, REQUIREMENTS, MEMBERS };
	static const char *const names[] = { "type", "ttl_minutes", "context", "requirements" };
	int m[MEMBERS];

	return pick(d, names, MEMBERS, m, why) && take_type(d, m[TYPE], &b->type, why) &&
	       take_minutes(d, m[TTL], "ttl_minutes", TTL_DEFAULT, &b->minutes, why) &&
	       take_context(d, m[CONTEXT], b, why) && take_requirements(d, m[REQUIREMENTS], b, why);
}

/* --- exec and extend --- */

/* Whole seconds, at least one; what is more than the most is the most. */
static bool take_timeout(struct json *d, int at, int64_t *seconds, struct buf *why)
{
	int64_t ms = EXEC_DEFAULT_MS;

	if (at >= 0 && !whole_number(d, at, &ms))
		return refuse_member(why, "timeout_ms", "must be an integer");
	if (ms < 0)
		return refuse_member(why, "timeout_ms", "must not be negative");
	if (ms > EXEC_MAX_MS)
		ms = EXEC_MAX_MS;
	*seconds = ms < 1000 ? 1 : ms / 1000;
	return true;
}

bool session_body_exec(struct json *d, struct exec_body *b, struct buf *why)
{
	enum { COMMAND, TIMEOUT, CWD, MEMBERS };
	static const char *const names[] = { "command", "timeout_ms", "cwd" };
	int m[MEMBERS];

	if (!pick(d, names, MEMBERS, m, why))
		return false;
	if (json_str(d, m[COMMAND], &b->command) < 0 || b->command.n == 0)
		return refuse_member(why, "command", "field required");
	if (str_has(b->command, '\0'))
		return refuse_member(why, "command", "must not contain NUL");
	return take_timeout(d, m[TIMEOUT], &b->seconds, why) &&
	       take_text(d, m[CWD], "cwd", &b->cwd, why);
}

bool session_body_extend(struct json *d, int64_t *minutes, struct buf *why)
{
	static const char *const names[] = { "additional_minutes" };
	int at = -1;

	return (d->n == 0 || pick(d, names, 1, &at, why)) &&
	       take_minutes(d, at, "additional_minutes", EXTEND_DEFAULT, minutes, why);
}
