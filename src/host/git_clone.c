/*
 * git_clone. A clone that fails, is cancelled or passes its time leaves nothing behind (fault 39):
 * git removes what it has made when it is asked to end, and here what is then still there goes,
 * with the directories made for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"
#include "host/dir_read.h"
#include "host/git_ref.h"
#include "host/git_repo.h"
#include "host/git_run.h"
#include "host/git_tools.h"
#include "host/git_url.h"
#include "host/tree_copy.h"
#include "loop/worker.h"

enum { A_URL, A_PATH, A_BRANCH };

// clang-format off
const struct arg git_clone_args[] = {
	[A_URL] = { "repo_url", ARG_STR, ARG_REQUIRED, "Repository: https://, http://, ssh://, git://, host:path, or a path or file:// URL below the workspace root", NULL },
	[A_PATH] = { "path", ARG_STR, ARG_NULL, "Directory to clone into, made when missing; default: the repository's name below the workspace root", NULL },
	[A_BRANCH] = { "branch", ARG_STR, ARG_NULL, "Branch or tag to check out; default: the repository's own", NULL },
	{ 0 },
};
// clang-format on

/* What a failed clone has to take back. */
enum claim {
	CLAIM_NONE,    /* nothing: what is there was there before */
	CLAIM_CONTENT, /* the directory was there, empty */
	CLAIM_ALL,     /* the directory was made by us */
};

/* One git_clone; lives in the job's memory. */
struct clone {
	struct git git;
	struct slice url;
	struct place dest;
	enum claim claim;
	int parents;    /* that were made for it */
	struct stat st; /* of the directory claimed */
	struct worker worker;
	int keep[2];
	struct clone *next;
};

/* Those that run: two must not take the same directory for theirs. */
static struct clone *clones;

static void clone_cleanup(struct job *j)
{
	struct clone *c = j->state;
	struct clone **at = &clones;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	place_close(&c->dest);
	command_cleanup(j);
}

/* ---- the directory ---- */

/* Directories on the way that do not exist yet. */
static int missing_parents(struct slice given)
{
	struct place p;
	struct slice path;
	char mem[PATH_MAX];
	int n = 0, r = path_find(&p, given, PATH_FOLLOW);

	path = slice_of(p.shown);
	memcpy(mem, path.p, path.n);
	path.p = mem;
	while (r == -ENOENT && path.n > 0) {
		place_close(&p);
		path.n = (size_t)((const char *)memrchr(path.p, '/', path.n) - path.p);
		r = path_find(&p, path, PATH_FOLLOW);
		n++;
	}
	place_close(&p);
	return n;
}

/* Those that are empty again; others may have put something there meanwhile. */
static void drop_parents(struct clone *c)
{
	struct slice path = slice_of(c->dest.shown);
	struct place p;

	for (; c->parents > 0; c->parents--) {
		path.n = (size_t)((const char *)memrchr(path.p, '/', path.n) - path.p);
		if (path_find(&p, path, PATH_FOLLOW) == 0)
			(void)unlinkat(p.dir, p.name, AT_REMOVEDIR);
		place_close(&p);
	}
}

static bool is_empty(const struct place *p)
{
	_Alignas(8) char mem[KIB];
	struct dir_entry e;
	struct dir_read d;
	int r, fd = dir_open(p->dir, p->name);

	if (fd < 0)
		return false;
	dir_start(&d, fd, mem, sizeof(mem));
	r = dir_next(&d, &e);
	close(fd);
	return r == 0;
}

static bool is_claimed(const struct stat *st)
{
	const struct clone *c = clones;

	while (c && (c->st.st_dev != st->st_dev || c->st.st_ino != st->st_ino))
		c = c->next;
	return c != NULL;
}

/* Made before git starts, so that there is no doubt whose it is. 0 or -errno. */
static int claim_dest(struct clone *c, struct slice given)
{
	int r;

	c->parents = missing_parents(given);
	r = path_find(&c->dest, given, PATH_FOLLOW | PATH_PARENTS);
	if (r < 0)
		return r;
	if (mkdirat(c->dest.dir, c->dest.name, 0777) == 0)
		c->claim = CLAIM_ALL;
	else if (errno != EEXIST)
		return -errno;
	else if (is_empty(&c->dest))
		c->claim = CLAIM_CONTENT;
	if (fstatat(c->dest.dir, c->dest.name, &c->st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (c->claim == CLAIM_CONTENT && is_claimed(&c->st))
		return -EBUSY;
	c->next = clones;
	clones = c;
	return 0;
}

/* ---- the end ---- */

static void removed(struct worker *w)
{
	struct clone *c = container_of(w, struct clone, worker);

	drop_parents(c);
	job_wake(c->git.command.job);
}

static void remove_work(struct worker *w, struct outcome *o)
{
	const struct clone *c = container_of(w, struct clone, worker);

	if (c->claim == CLAIM_ALL)
		o->err = tree_remove(c->dest.dir, c->dest.name);
	else
		o->err = tree_empty(c->dest.dir, c->dest.name);
}

/* Is there something to remove, in a directory that is still the one we have claimed? */
static bool has_rest(const struct clone *c)
{
	struct stat st;

	if (c->claim == CLAIM_NONE ||
		fstatat(c->dest.dir, c->dest.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		st.st_dev != c->st.st_dev || st.st_ino != c->st.st_ino)
		return false;
	if (c->claim == CLAIM_ALL && unlinkat(c->dest.dir, c->dest.name, AT_REMOVEDIR) == 0)
		return false;
	return !is_empty(&c->dest);
}

/* Back to how it was before; the job is woken when that is done. */
static void take_back(struct clone *c)
{
	int r;

	c->worker = (struct worker){ .work = remove_work, .done = removed, .keep = c->keep };
	if (has_rest(c)) {
		c->keep[0] = c->dest.dir;
		c->keep[1] = -1;
		r = worker_start(&c->worker);
		if (r == 0)
			return;
		c->worker.outcome.err = r;
	}
	removed(&c->worker);
}

/* A clone that nobody is told of any more counts as one that failed. */
static void clone_ended(struct command *command)
{
	const struct job *j = command->job;

	if (command_failed(command) || j->muted || j->stopped)
		take_back(j->state);
	else
		job_wake(command->job);
}

static enum step clone_answer(struct job *j)
{
	const struct clone *c = j->state;

	command_text(j, TEXT_BOTH);
	if (c->worker.outcome.err < 0)
		tool_note(j, "%s could not be removed: %s", c->dest.shown,
			strerror(-c->worker.outcome.err));
	return STEP_DONE;
}

/* ---- the beginning ---- */

/* Without a path: what git would make of the address. */
static struct slice dest_given(const struct job *j)
{
	const struct clone *c = j->state;

	return arg_given(j, A_PATH) ? arg_str(j, A_PATH) : git_url_name(c->url);
}

static void put_words(struct job *j, struct clone *c)
{
	struct command *command = &c->git.command;

	git_words(&c->git, "clone");
	git_progress(&c->git);
	if (arg_given(j, A_BRANCH)) {
		command_arg(command, "-b");
		command_arg_slice(command, arg_str(j, A_BRANCH));
	}
	command_arg(command, "--");
	command_arg_slice(command, c->url);
	command_arg_slice(command, arg_given(j, A_PATH) ? slice_of(c->dest.shown) : dest_given(j));
}

static enum step clone_run(struct job *j)
{
	struct clone *c = j->state;
	int r = claim_dest(c, dest_given(j));

	if (r < 0) {
		drop_parents(c);
		if (r == -EBUSY)
			return tool_fail(
				j, "Error: %s: another git_clone is writing there", c->dest.shown);
		return path_fail(j, &c->dest, dest_given(j), r);
	}
	put_words(j, c);
	c->git.command.after = clone_ended;
	r = command_start(&c->git.command, GIT_CLONE_MS);
	if (r == 0)
		return job_wait(j, clone_answer);
	(void)has_rest(c);
	drop_parents(c);
	return command_fail(&c->git.command, r);
}

enum step git_clone(struct job *j)
{
	const char *rule = arg_given(j, A_BRANCH) ? git_branch_rule(arg_str(j, A_BRANCH)) : NULL;
	struct clone *c;

	if (rule)
		return git_refuse(j, A_BRANCH, rule);
	c = (struct clone *)git_open(j, sizeof(*c), (struct slice){ 0 });
	if (!c)
		return STEP_DONE;
	c->dest.dir = -1;
	j->cleanup = clone_cleanup;
	if (!git_repo_word(j, A_URL, &c->url))
		return STEP_DONE;
	if (dest_given(j).n == 0 && !arg_given(j, A_PATH))
		return git_refuse(j, A_PATH, "must be given, the address ends with no name");
	return git_before_ssh(j, clone_run);
}
