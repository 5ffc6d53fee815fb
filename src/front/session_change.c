/*
 * POST /session/<id>/extend and DELETE /session/<id>.
 */
#include <errno.h>

#include "front/session_body.h"
#include "front/session_calls.h"
#include "front/session_job.h"
#include "front/session_text.h"

enum { WHY_MAX = 512 };

static void hook_kept(struct job *j)
{
	(void)j; /* what it waits for comes before long, and must not be taken for done before */
}

/* --- extend --- */

struct extend {
	struct job *job;
	struct session_sync sync;
	int64_t before, after; /* ends */
};

static void extend_cleanup(struct job *j)
{
	struct extend *e = j->state;

	session_file_forget(&e->sync);
}

static void extend_synced(struct session_sync *s)
{
	job_wake(container_of(s, struct extend, sync)->job);
}

static enum step extend_answer(struct job *j)
{
	const struct extend *e = j->state;
	struct session *s;
	int64_t now = sessions_now();

	s = sessions_find(session_call(j)->id);
	if (s && e->sync.err < 0 && s->end == e->after)
		sessions_extend_undo(s, e->before);
	if (e->sync.err < 0)
		return session_fail_errno(j, "Failed to write the state file", e->sync.err);
	if (!s || s->state != SESSION_READY)
		return session_fail(j, 404, "Session not found or expired");
	session_reply(j, 200);
	session_put_extended(&j->w, s, now);
	return session_reply_end(j);
}

static enum step extend_start(struct job *j, struct session *s, int64_t minutes)
{
	struct extend *e = job_state(j, sizeof(*e));
	int r;

	if (!e)
		return session_fail(j, 503, "Server is busy, try again");
	e->job = j;
	e->before = s->end;
	e->sync.done = extend_synced;
	j->cleanup = extend_cleanup;
	r = sessions_extend(s, minutes);
	if (r < 0)
		return session_fail_errno(j, "Failed to write the state file", r);
	e->after = s->end;
	if (!session_file_wait(&e->sync))
		return extend_answer(j);
	session_call(j)->goes_on = true;
	j->cancel = hook_kept;
	return job_wait(j, extend_answer);
}

enum step session_extend_call(struct job *j)
{
	char mem[WHY_MAX];
	struct session *s;
	struct buf why;
	int64_t minutes;

	sessions_now();
	s = sessions_find(session_call(j)->id);
	if (!s || s->state != SESSION_READY)
		return session_fail(j, 404, "Session not found or expired");
	buf_over(&why, mem, sizeof(mem));
	if (!session_body_extend(&j->doc, &minutes, &why))
		return session_fail(j, 400, "%.*s", SLICE(buf_all(&why)));
	return extend_start(j, s, minutes);
}

/* --- delete --- */

struct delete
{
	struct job *job;
	struct session_removal removal;
	struct session_sync sync;
};

static void delete_cleanup(struct job *j)
{
	struct delete *d = j->state;

	session_removal_forget(&d->removal);
	session_file_forget(&d->sync);
}

static void delete_removed(struct session_removal *r)
{
	job_wake(container_of(r, struct delete, removal)->job);
}

static void delete_synced(struct session_sync *s)
{
	job_wake(container_of(s, struct delete, sync)->job);
}

/* That the state file could not be written is no failure: without its files no session comes back.
 */
static enum step delete_answer(struct job *j)
{
	const struct delete *d = j->state;

	if (d->removal.err < 0)
		return session_fail_errno(j,
			"Session ended, but not all of its files could be removed", d->removal.err);
	session_reply(j, 200);
	jw_bool(&j->w, "success", true);
	return session_reply_end(j);
}

static enum step delete_gone(struct job *j)
{
	struct delete *d = j->state;

	if (!session_file_wait(&d->sync))
		return delete_answer(j);
	j->cancel = hook_kept;
	return job_wait(j, delete_answer);
}

enum step session_delete(struct job *j)
{
	struct delete *d = job_state(j, sizeof(*d));
	struct session *s;

	sessions_now();
	s = sessions_find(session_call(j)->id);
	if (!s)
		return session_fail(j, 404, "Session not found");
	if (!d)
		return session_fail(j, 503, "Server is busy, try again");
	d->job = j;
	d->removal.done = delete_removed;
	d->sync.done = delete_synced;
	j->cleanup = delete_cleanup;
	session_call(j)->goes_on = true;
	sessions_clean(s);
	if (!session_removal_wait(&d->removal, s))
		return delete_gone(j);
	j->cancel = hook_kept;
	return job_wait(j, delete_gone);
}
