/*
 * git_diff: what was changed and is not staged. When it is longer than an answer may be, the list
 * of the files with the size of their changes comes first.
 */
#include "bounds.h"
#include "host/git_run.h"
#include "host/git_tools.h"

enum { A_PATH };

enum {
	USAGE_CODE = 129, /* of git diff outside of a repository, with pages of options */
};

/* One git_diff; lives in the job's memory. */
struct diff {
	struct git git;
	struct capture kept; /* the diff, while the list is made */
};

// clang-format off
const struct arg git_diff_args[] = {
	[A_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};
// clang-format on

static void diff_cleanup(struct job *j)
{
	struct diff *d = j->state;

	capture_close(&d->kept);
	command_cleanup(j);
}

/* The diff stands where standard error would. */
static enum step diff_listed(struct job *j)
{
	struct diff *d = j->state;
	struct command *c = &d->git.command;

	capture_close(&c->err);
	c->err = d->kept;
	d->kept = (struct capture){ 0 };
	return command_text(j, TEXT_BOTH);
}

static enum step diff_list(struct job *j)
{
	struct diff *d = j->state;
	struct command *c = &d->git.command;

	d->kept = c->out;
	c->out = (struct capture){ 0 };
	command_again(c);
	git_words(&d->git, "--no-optional-locks diff --stat");
	return command_run(c, GIT_MS, diff_listed);
}

static enum step diff_answer(struct job *j)
{
	return command_text(j, TEXT_OUTPUT);
}

/* A command that says in one line what is wrong. */
static enum step diff_explain(struct job *j)
{
	struct git *g = j->state;

	command_again(&g->command);
	git_words(g, "rev-parse --git-dir");
	return command_run(&g->command, GIT_MS, diff_answer);
}

static enum step diff_made(struct job *j)
{
	struct diff *d = j->state;
	struct command *c = &d->git.command;
	struct slice parts[3];

	if (!c->child.timed_out && child_exit_code(&c->child) == USAGE_CODE)
		return diff_explain(j);
	if (command_failed(c))
		return diff_answer(j);
	if (c->out.total == 0)
		return tool_text(j, LIT("(no changes)"));
	return capture_parts(&c->out, parts) > 0 ? diff_list(j) : diff_answer(j);
}

enum step git_diff(struct job *j)
{
	struct diff *d = (struct diff *)git_open(j, sizeof(*d), arg_str(j, A_PATH));

	if (!d)
		return STEP_DONE;
	j->cleanup = diff_cleanup;
	git_words(&d->git, "--no-optional-locks diff");
	return command_run(&d->git.command, GIT_MS, diff_made);
}
