/*
 * Running git for a call: no prompt, no editor, no pager, no colours, names as they are, and no
 * repository but one below the root. The words of a command are separate arguments; no shell reads
 * them.
 */
#ifndef HOST_GIT_RUN_H
#define HOST_GIT_RUN_H

#include "host/command_text.h"
#include "host/path.h"

enum { GIT_ENV_MAX = 48 };

/* A git call; lives in the job's memory, at its start. */
struct git {
	struct command command;
	struct place place; /* where it runs: place.shown; closed */

	/* private */
	const char *env[GIT_ENV_MAX];
	size_t env_n;
	enum step (*next)(struct job *j);
};

/*
 * The job's state, size bytes that begin with a struct git, ready but for its directory
 * (command.cwd). NULL: no memory.
 */
struct git *git_new(struct job *j, size_t size);
/*
 * For a tool: the job's state, size bytes that begin with a struct git, and the directory to run
 * in, which must exist. NULL: the call has failed and is answered.
 */
struct git *git_open(struct job *j, size_t size, struct slice path);

/* "git", what every call has, then words of ours, a blank between. More may follow by command_arg.
 */
void git_words(struct git *g, const char *words);

/* "--progress" when the client wants to hear of it; the answer's text does not show it. */
void git_progress(struct git *g);

/*
 * Before a command that may use ssh: next puts its words together and runs it. A git command asks
 * first whether the configuration names an ssh of the user's own.
 */
enum step git_before_ssh(struct job *j, enum step (*next)(struct job *j));

/* The error result "Invalid arguments for <tool>: <argument>: <rule>". */
enum step git_refuse(struct job *j, int which, const char *rule);

#endif
