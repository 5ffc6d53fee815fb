/*
 * POST /session/<id>/exec: a shell command in the session's workspace. It ends with the session, or
 * with the client that asked for it.
 */
#include <errno.h>

#include "front/session_body.h"
#include "front/session_calls.h"
#include "front/session_job.h"
#include "host/command.h"
#include "host/session_dir.h"

enum {
	TIMED_OUT_CODE = 124, /* of timeout(1) and of the reference */
	WHY_MAX = 512,
};

/* One exec; lives in the job's memory. */
struct exec {
	struct command command;
	struct session_visit visit;
	int64_t seconds;
};

static enum step not_there(struct job *j)
{
	return session_fail(j, 404, "Session not found or expired");
}

/* That it has expired is told once. */
static enum step has_ended(struct job *j, struct session *s)
{
	if (!s || s->state != SESSION_EXPIRED || s->told)
		return not_there(j);
	s->told = true;
	return session_fail(j, 410, "Session expired");
}

/* --- the answer --- */

static void put_stream(struct job *j, const char *key, const struct capture *c)
{
	jw_text_open(&j->w, key);
	command_put_output(j, c);
	jw_text_close(&j->w);
}

static void put_stderr(struct job *j, const struct exec *e)
{
	jw_text_open(&j->w, "stderr");
	if (command_put_output(j, &e->command.err) != '\n' && e->command.child.timed_out)
		jw_text(&j->w, LIT("\n"));
	if (e->command.child.timed_out)
		jw_text_printf(&j->w, "timeout after %llds", (long long)e->seconds);
	jw_text_close(&j->w);
}

static enum step exec_ended(struct job *j)
{
	struct exec *e = j->state;
	bool late = e->command.child.timed_out;

	if (e->visit.ended)
		return has_ended(j, e->visit.session);
	session_reply(j, 200);
	jw_int(&j->w, "exit_code", late ? TIMED_OUT_CODE : child_exit_code(&e->command.child));
	put_stream(j, "stdout", &e->command.out);
	put_stderr(j, e);
	return session_reply_end(j);
}

/* --- the command --- */

static void exec_cleanup(struct job *j)
{
	struct exec *e = j->state;

	session_leave(&e->visit);
	command_cleanup(j);
}

static void exec_end(struct session_visit *v)
{
	job_interrupt(container_of(v, struct exec, visit)->command.job);
}

/* NULL, or the call is answered. */
static struct exec *exec_new(struct job *j)
{
	struct exec *e = job_may_spawn(j) ? command_new(j, sizeof(*e)) : NULL;

	if (e) {
		j->cleanup = exec_cleanup;
		e->visit.end = exec_end;
		return e;
	}
	session_call(j)->retry_s = 1;
	session_fail(j, 503, "Server is busy: too many commands are running, try again");
	return NULL;
}

static enum step cwd_failed(
	struct job *j, const struct session *s, struct slice given, const struct place *p, int err)
{
	char path[PATH_MAX];

	if (!session_dir_path(s, "", path, sizeof(path)) || !p->shown[0])
		return session_fail(
			j, 500, "The session's directory is not there: %s", strerror(-err));
	if (err == -EXDEV)
		return session_fail(j, 400,
			"cwd: Path \"%.*s\" is outside the session's directory (%s)",
			SLICE(slice_head(given, NAME_SHOWN_MAX)), path);
	return session_fail(j, 400, "cwd: %s: %s", p->shown, strerror(-err));
}

static enum step exec_start(struct job *j, const struct exec_body *b, struct session *s)
{
	struct exec *e = exec_new(j);
	char mem[WHY_MAX];
	struct buf why;
	struct place p;
	int r;

	if (!e)
		return STEP_DONE;
	e->seconds = b->seconds;
	e->command.kin = session_kin(s);
	command_shell(&e->command, b->command);
	e->command.cwd = session_dir_open(s, b->cwd, &p);
	if (e->command.cwd < 0)
		return cwd_failed(j, s, b->cwd, &p, e->command.cwd);
	r = session_dir_env(s, &j->mem, &e->command.env);
	if (r < 0)
		return session_fail(j, 500, "context/env.json cannot be used: %s",
			r == -EBADMSG ? "it is not what was written there" : strerror(-r));
	r = command_start(&e->command, b->seconds * 1000);
	if (r < 0) {
		buf_over(&why, mem, sizeof(mem));
		command_put_failure(&e->command, r, &why);
		return session_fail(j, 500, "%.*s", SLICE(buf_all(&why)));
	}
	s->ran = true;
	session_enter(&e->visit, s);
	return job_wait(j, exec_ended);
}

enum step session_exec(struct job *j)
{
	char mem[WHY_MAX];
	struct exec_body body;
	struct session *s;
	struct buf why;

	sessions_now();
	s = sessions_find(session_call(j)->id);
	if (!s || s->state != SESSION_READY)
		return has_ended(j, s);
	buf_over(&why, mem, sizeof(mem));
	if (!session_body_exec(&j->doc, &body, &why))
		return session_fail(j, 400, "%.*s", SLICE(buf_all(&why)));
	return exec_start(j, &body, s);
}
