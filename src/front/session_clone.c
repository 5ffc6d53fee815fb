#include "front/session_clone.h"

#include "base/str.h"
#include "host/tree_copy.h"

enum { TEXT_MAX = 256 };

/* --- what came of it --- */

static bool clone_failed(const struct session_clone *c)
{
	return c->err < 0 || command_failed(&c->git.command);
}

void session_clone_put_error(struct job *j)
{
	struct session_clone *c = j->state;
	char mem[TEXT_MAX];
	struct buf why;

	if (!clone_failed(c))
		return;
	jw_text_open(&j->w, "clone_error");
	if (c->err < 0) {
		buf_over(&why, mem, sizeof(mem));
		command_put_failure(&c->git.command, c->err, &why);
		jw_text(&j->w, buf_all(&why));
	} else {
		command_put_text(j, TEXT_BOTH);
	}
	jw_text_close(&j->w);
}

/* --- the directory empty again: git itself does it, unless it had to be killed --- */

static void empty_work(struct worker *w, struct outcome *o)
{
	struct session_clone *c = container_of(w, struct session_clone, worker);

	o->err = tree_empty(c->git.command.cwd, ".");
}

static void empty_done(struct worker *w)
{
	job_wake(container_of(w, struct session_clone, worker)->git.command.job);
}

static void keep_waiting(struct job *j)
{
	(void)j; /* the worker uses what the job holds; it ends by itself */
}

static enum step clone_ended(struct job *j)
{
	struct session_clone *c = j->state;

	if (!clone_failed(c))
		return c->next(j);
	c->keep[0] = c->git.command.cwd;
	c->keep[1] = -1;
	c->worker = (struct worker){ .work = empty_work, .done = empty_done, .keep = c->keep };
	if (worker_start(&c->worker) < 0)
		return c->next(j);
	j->cancel = keep_waiting;
	return job_wait(j, c->next);
}

/* --- starting --- */

enum step session_clone_run(
	struct job *j, int into, const struct create_body *b, enum step (*next)(struct job *j))
{
	struct session_clone *c = j->state;
	struct command *command = &c->git.command;
	char mem[TEXT_MAX];
	struct buf url;

	buf_over(&url, mem, sizeof(mem));
	buf_printf(&url, "https://github.com/%.*s/%.*s", SLICE(b->owner), SLICE(b->repo));
	c->next = next;
	command->cwd = into;
	git_words(&c->git, "clone --depth=1 -b");
	command_arg_slice(command, b->branch);
	command_arg(command, "--");
	command_arg_slice(command, buf_all(&url));
	command_arg(command, ".");
	c->err = command_start(command, SESSION_CLONE_MS);
	return c->err < 0 ? next(j) : job_wait(j, clone_ended);
}
