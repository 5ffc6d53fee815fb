/*
 * POST /session/create. First the session is written to the state file, then its directories are
 * made, so that a server killed at any point leaves nothing that the reaper does not know of. Until
 * the client is told of it, whatever goes wrong takes it back.
 */
#include <errno.h>

#include "front/session_calls.h"
#include "front/session_clone.h"
#include "front/session_job.h"
#include "front/session_text.h"
#include "host/session_dir.h"
#include "host/session_env.h"
#include "json/json_pretty.h"

enum { WHY_MAX = 512 };

/* One create; lives in the job's memory. */
struct create {
	struct session_clone clone;
	struct create_body body;
	struct slice task, env; /* what context/ will hold; in the job's out */
	struct session_sync sync;
	struct session_visit visit;
	bool told; /* the client has its answer: the session stays */
};

static void create_cleanup(struct job *j)
{
	struct create *c = j->state;
	struct session *s = c->visit.session;

	session_file_forget(&c->sync);
	session_leave(&c->visit);
	if (s && !c->told)
		sessions_clean(s);
	command_cleanup(j);
}

static struct job *create_job(struct create *c)
{
	return c->clone.git.command.job;
}

static void create_synced(struct session_sync *s)
{
	job_wake(create_job(container_of(s, struct create, sync)));
}

static void create_end(struct session_visit *v)
{
	job_interrupt(create_job(container_of(v, struct create, visit)));
}

/* --- the answer --- */

static enum step create_answer(struct job *j)
{
	struct create *c = j->state;
	struct session *s = c->visit.session;

	if (!session_ready(s))
		return session_fail(j, 410, "Session expired");
	session_reply(j, 201);
	session_put_made(&j->w, s);
	if (c->body.repo.n > 0)
		session_clone_put_error(j);
	session_reply_end(j);
	c->told = !j->out.failed;
	return STEP_DONE;
}

/* --- once it is safe --- */

static enum step create_safe(struct job *j)
{
	struct create *c = j->state;
	struct place p;
	int r, into;

	if (c->sync.err < 0)
		return session_fail_errno(j, "Failed to write the state file", c->sync.err);
	r = session_dir_make(c->visit.session, c->task, c->env);
	if (r < 0)
		return session_fail_errno(j, "Failed to create session directory", r);
	if (c->body.repo.n == 0)
		return create_answer(j);
	into = session_dir_open(c->visit.session, (struct slice){ 0 }, &p);
	if (into < 0)
		return session_fail_errno(j, "Failed to create session directory", into);
	return session_clone_run(j, into, &c->body, create_answer);
}

static enum step create_failed(struct job *j, int err)
{
	session_call(j)->retry_s = 1;
	if (err == -EAGAIN)
		return session_fail(
			j, 503, "Not enough randomness yet: the machine has just been started");
	if (err == -ENFILE)
		return session_fail(j, 503, "Too many sessions have ended a short time ago");
	session_call(j)->retry_s = 0;
	return session_fail_errno(j, "Failed to write the state file", err);
}

static enum step create_start(struct job *j)
{
	struct create *c = j->state;
	struct session *s;
	int r = sessions_create(c->body.type, c->body.minutes, &s);

	if (r < 0)
		return create_failed(j, r);
	session_enter(&c->visit, s);
	session_call(j)->id = slice_of(s->id);
	return session_file_wait(&c->sync) ? job_wait(j, create_safe) : create_safe(j);
}

/* --- before anything is made --- */

/* Seconds until the first of the sessions there are ends by itself. */
static enum step too_many(struct job *j)
{
	int64_t now = sessions_now();

	session_call(j)->retry_s = (sessions_first_end() - now) / 1000 + 1;
	return session_fail(
		j, 429, "Too many sessions: MAX_INSTANCES is %lld", (long long)sessions_max());
}

/* Written out before anything in the context is looked at, since that would change its text. */
static bool take_context(struct job *j, struct create *c, struct buf *why)
{
	size_t at;

	if (c->body.context >= 0)
		json_pretty(&j->out, json_raw(&j->doc, c->body.context));
	at = j->out.len;
	if (c->body.env >= 0)
		json_pretty(&j->out, json_raw(&j->doc, c->body.env));
	c->task = (struct slice){ j->out.p, at };
	c->env = buf_since(&j->out, at);
	if (j->out.failed || c->task.n > SESSION_CONTEXT_MAX)
		buf_printf(why, "context: must be at most %d bytes", SESSION_CONTEXT_MAX);
	else if (c->env.n > SESSION_ENV_BYTES)
		buf_printf(why, "context.env: must be at most %d bytes", SESSION_ENV_BYTES);
	return why->len == 0;
}

/* Only to find out whether the commands can have it; they read the file. */
static bool check_env(struct job *j, struct create *c, struct buf *why)
{
	size_t mark = j->mem.len;
	bool good;

	if (c->body.env < 0)
		return true;
	buf_puts(why, "context.env: ");
	good = session_env(&j->doc, c->body.env, &j->mem, why) != NULL;
	buf_cut(&j->mem, mark);
	return good;
}

/* Does all that a create waits for; NULL: no memory. */
static struct create *create_new(struct job *j)
{
	struct create *c = (struct create *)git_new(j, sizeof(*c));

	if (!c)
		return NULL;
	c->sync.done = create_synced;
	c->visit.end = create_end;
	j->cleanup = create_cleanup;
	return c;
}

enum step session_create(struct job *j)
{
	struct create *c = create_new(j);
	char mem[WHY_MAX];
	struct buf why;

	if (!c)
		return session_fail(j, 503, "Server is busy, try again");
	buf_over(&why, mem, sizeof(mem));
	if (!session_body_create(&j->doc, &c->body, &why))
		return session_fail(j, 400, "%.*s", SLICE(buf_all(&why)));
	if (!take_context(j, c, &why))
		return session_fail(j, 413, "%.*s", SLICE(buf_all(&why)));
	if (!check_env(j, c, &why))
		return session_fail(j, 400, "%.*s", SLICE(buf_all(&why)));
	sessions_now();
	if (sessions_count() >= sessions_max())
		return too_many(j);
	if (c->body.repo.n > 0 && !job_may_spawn(j)) {
		session_call(j)->retry_s = 1;
		return session_fail(
			j, 503, "Server is busy: too many commands are running, try again");
	}
	return create_start(j);
}
