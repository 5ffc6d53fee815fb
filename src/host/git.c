/*
 * The git tools: the git of this machine, its texts unchanged but for passwords in URLs.
 */
#include "base/str.h"
#include "bounds.h"
#include "host/git_ref.h"
#include "host/git_repo.h"
#include "host/git_run.h"
#include "host/git_tools.h"
#include "host/host.h"

static enum step answer(struct job *j)
{
	return command_text(j, TEXT_BOTH);
}

static enum step answer_lines(struct job *j)
{
	return command_text(j, TEXT_LINES);
}

static enum step answer_output(struct job *j)
{
	return command_text(j, TEXT_OUTPUT);
}

/* ---- git_status ---- */

enum { A_STATUS_PATH };

static enum step git_status(struct job *j)
{
	struct git *g = git_open(j, sizeof(*g), arg_str(j, A_STATUS_PATH));

	if (!g)
		return STEP_DONE;
	git_words(g, "--no-optional-locks status");
	return command_run(&g->command, GIT_MS, answer_output);
}

/* ---- git_commit ---- */

enum { A_MESSAGE, A_COMMIT_PATH };

static enum step commit_added(struct job *j)
{
	struct git *g = j->state;

	if (command_failed(&g->command))
		return answer(j);
	command_again(&g->command);
	git_words(g, "commit -m");
	command_arg_slice(&g->command, arg_str(j, A_MESSAGE));
	return command_run(&g->command, GIT_MS, answer);
}

static enum step git_commit(struct job *j)
{
	struct git *g;

	if (str_trim(arg_str(j, A_MESSAGE)).n == 0)
		return git_refuse(j, A_MESSAGE, "must not be empty");
	g = git_open(j, sizeof(*g), arg_str(j, A_COMMIT_PATH));
	if (!g)
		return STEP_DONE;
	git_words(g, "add -A");
	return command_run(&g->command, GIT_MS, commit_added);
}

/* ---- git_push, git_pull ---- */

enum { A_REMOTE, A_REMOTE_BRANCH, A_REMOTE_PATH };

static enum step exchange(struct job *j, const char *verb)
{
	struct git *g = j->state;
	struct slice remote;

	if (!git_remote_word(j, A_REMOTE, &remote))
		return STEP_DONE;
	git_words(g, verb);
	git_progress(g);
	command_arg(&g->command, "--");
	command_arg_slice(&g->command, remote);
	if (arg_given(j, A_REMOTE_BRANCH))
		command_arg_slice(&g->command, arg_str(j, A_REMOTE_BRANCH));
	return command_run(&g->command, GIT_REMOTE_MS, answer);
}

static enum step push(struct job *j)
{
	return exchange(j, "push");
}

static enum step pull(struct job *j)
{
	return exchange(j, "pull");
}

static enum step exchange_open(struct job *j, enum step (*next)(struct job *j))
{
	const char *rule = arg_given(j, A_REMOTE_BRANCH)
				   ? git_refspec_rule(arg_str(j, A_REMOTE_BRANCH))
				   : NULL;
	struct git *g;

	if (rule)
		return git_refuse(j, A_REMOTE_BRANCH, rule);
	g = git_open(j, sizeof(*g), arg_str(j, A_REMOTE_PATH));
	return g ? git_before_ssh(j, next) : STEP_DONE;
}

static enum step git_push(struct job *j)
{
	return exchange_open(j, push);
}

static enum step git_pull(struct job *j)
{
	return exchange_open(j, pull);
}

/* ---- git_branch ---- */

enum { A_NAME, A_BRANCH_PATH };

static enum step git_branch(struct job *j)
{
	bool make = arg_given(j, A_NAME);
	const char *rule = make ? git_branch_rule(arg_str(j, A_NAME)) : NULL;
	struct git *g;

	if (rule)
		return git_refuse(j, A_NAME, rule);
	g = git_open(j, sizeof(*g), arg_str(j, A_BRANCH_PATH));
	if (!g)
		return STEP_DONE;
	git_words(g, make ? "branch --" : "branch -a");
	if (make)
		command_arg_slice(&g->command, arg_str(j, A_NAME));
	return command_run(&g->command, GIT_MS, make ? answer : answer_lines);
}

/* ---- git_checkout ---- */

enum { A_CHECKOUT, A_CHECKOUT_PATH };

/* "--" at the end: what stands before it is never taken for a file, whose changes would go. */
static enum step git_checkout(struct job *j)
{
	const char *rule = git_checkout_rule(arg_str(j, A_CHECKOUT));
	struct git *g;

	if (rule)
		return git_refuse(j, A_CHECKOUT, rule);
	g = git_open(j, sizeof(*g), arg_str(j, A_CHECKOUT_PATH));
	if (!g)
		return STEP_DONE;
	git_words(g, "checkout");
	command_arg_slice(&g->command, arg_str(j, A_CHECKOUT));
	command_arg(&g->command, "--");
	return command_run(&g->command, GIT_MS, answer);
}

/* ---- git_log ---- */

enum { A_N, A_LOG_PATH };

static enum step log_answer(struct job *j)
{
	answer_output(j);
	if (arg_given(j, A_N) && arg_num(j, A_N) > GIT_LOG_MAX)
		tool_note(j, "n was limited to %d", GIT_LOG_MAX);
	return STEP_DONE;
}

/* 0 and null mean the default. */
static int log_count(const struct job *j)
{
	int64_t n = arg_given(j, A_N) ? arg_num(j, A_N) : 0;

	if (n == 0)
		return GIT_LOG_DEFAULT;
	return n > GIT_LOG_MAX ? GIT_LOG_MAX : (int)n;
}

static enum step git_log(struct job *j)
{
	struct git *g;
	char mem[16];
	struct buf n;

	if (arg_given(j, A_N) && arg_num(j, A_N) < 0)
		return git_refuse(j, A_N, "must not be negative");
	g = git_open(j, sizeof(*g), arg_str(j, A_LOG_PATH));
	if (!g)
		return STEP_DONE;
	buf_over(&n, mem, sizeof(mem));
	buf_printf(&n, "%d", log_count(j));
	git_words(g, "log --oneline -n");
	command_arg_slice(&g->command, buf_all(&n));
	return command_run(&g->command, GIT_MS, log_answer);
}

// clang-format off
static const struct arg status_args[] = {
	[A_STATUS_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

static const struct arg commit_args[] = {
	[A_MESSAGE] = { "message", ARG_STR, ARG_REQUIRED, "Commit message, of any number of lines", NULL },
	[A_COMMIT_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

static const struct arg exchange_args[] = {
	[A_REMOTE] = { "remote", ARG_STR, ARG_NULL, "Name of a remote, or an address as git_clone takes it; default: origin", NULL },
	[A_REMOTE_BRANCH] = { "branch", ARG_STR, ARG_NULL, "Branch or tag; default: what git is configured to do", NULL },
	[A_REMOTE_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

static const struct arg branch_args[] = {
	[A_NAME] = { "name", ARG_STR, ARG_NULL, "Branch to make; default: list all branches", NULL },
	[A_BRANCH_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

static const struct arg checkout_args[] = {
	[A_CHECKOUT] = { "branch", ARG_STR, ARG_REQUIRED, "Branch, tag or commit, also with ~1 and the like behind it; - is the branch before", NULL },
	[A_CHECKOUT_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

static const struct arg log_args[] = {
	[A_N] = { "n", ARG_INT, ARG_NULL, "How many commits, 100 at most; default: 10", NULL },
	[A_LOG_PATH] = { "path", ARG_STR, ARG_NULL, GIT_PATH_DESC, NULL },
	{ 0 },
};

/* Push changes what others have; pull and checkout overwrite ignored files in their way. */
const struct tool git_tools[] = {
	{ "git_clone", "Clone a repository",
		"Clone a git repository. Nothing is asked: credentials come from the URL, git's credential helpers or ssh keys. "
		"A clone that fails leaves nothing behind. Time limit: 120 s",
		git_clone_args, TOOL_OPEN | TOOL_SPAWNS, git_clone },
	{ "git_status", "Show git status",
		"Run git status: the branch, and which files are changed, staged or untracked",
		status_args, TOOL_READS | TOOL_IDEMPOTENT | TOOL_SPAWNS, git_status },
	{ "git_commit", "Commit everything",
		"Stage every change in the repository (git add -A) and commit. Fails when there is nothing to commit or a hook refuses",
		commit_args, TOOL_SPAWNS, git_commit },
	{ "git_push", "Push commits",
		"Push to a remote; never forces and never deletes. Time limit: 60 s",
		exchange_args, TOOL_DESTROYS | TOOL_IDEMPOTENT | TOOL_OPEN | TOOL_SPAWNS, git_push },
	{ "git_pull", "Pull commits",
		"Fetch from a remote and merge, or rebase where git is configured so. Fails on conflicts and names them. Time limit: 60 s",
		exchange_args, TOOL_DESTROYS | TOOL_OPEN | TOOL_SPAWNS, git_pull },
	{ "git_branch", "List or make branches",
		"Without a name list all branches, local and remote; with one make that branch at the current commit, without switching to it",
		branch_args, TOOL_SPAWNS, git_branch },
	{ "git_checkout", "Switch branches",
		"Check out a branch, tag or commit; a branch that only a remote has is made. Never restores files",
		checkout_args, TOOL_DESTROYS | TOOL_SPAWNS, git_checkout },
	{ "git_diff", "Show unstaged changes",
		"Show changes that are not staged. A long diff is cut in the middle and comes after a list of the changed files",
		git_diff_args, TOOL_READS | TOOL_IDEMPOTENT | TOOL_SPAWNS, git_diff },
	{ "git_log", "Show commits",
		"List the latest commits, one a line: short hash and subject",
		log_args, TOOL_READS | TOOL_IDEMPOTENT | TOOL_SPAWNS, git_log },
	{ 0 },
};
// clang-format on
