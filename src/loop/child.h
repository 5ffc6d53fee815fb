/*
 * A command: started, captured, limited in time, ended with all its descendants, reaped.
 *
 * The child gets the original descriptor limit, default signal dispositions, an empty mask, a new
 * session, /dev/null (or a closed pipe where there is none) as standard input, and no descriptor of
 * ours but its two pipes.
 */
#ifndef LOOP_CHILD_H
#define LOOP_CHILD_H

#include <sys/resource.h>

#include "loop/capture.h"
#include "loop/loop.h"
#include "loop/proc.h"

enum {
	KILL_STUCK_MS = 5000, /* after KILL: who lives even then is not waited for (decision 44) */
};

struct child {
	/* Set by the caller before child_start. */
	const char *path; /* the program, absolute */
	const char *const *argv;
	const char *const *env; /* "NAME=value", ended by NULL, beside that of child_environment;
				   "NAME": not handed on; NULL: none */
	const char
		*kin; /* PROC_KIN_LEN hex digits by which child_signal_kin finds it; NULL: none */
	int cwd;      /* directory descriptor (may be O_PATH); -1: where the server stands */
	int64_t limit_ms;          /* 0: none */
	struct capture *out, *err; /* err NULL: both streams go to out */
	void (*done)(struct child *c);
	/*
	 * For what runs in the background; NULL: not wanted. got: takes what comes of both streams,
	 * out and err are NULL then. exited: the program itself has ended, status is good; done()
	 * follows when nobody holds the pipe any more, however long that takes.
	 */
	void (*got)(struct child *c, struct slice bytes);
	void (*exited)(struct child *c);

	/* Good after done(). */
	int status; /* of waitpid */
	bool timed_out;
	bool killed; /* TERM was not enough */
	bool held;   /* another process still holds a pipe; it is read and dropped from now on */

	/* private */
	struct child *next; /* of those that are not done yet */
	struct proc proc;
	struct watch out_w, err_w;
	struct timer limit, grace, drain;
	int64_t drain_end;
	bool ending, over;
	int found_none; /* looks for descendants, in a row, that found none */
	char tag[PROC_TAG_LEN + 1];
};

/*
 * 0 or -errno (what exec said, too: -ENOENT, -EACCES, ...). After 0, done() is called exactly once,
 * from the loop: when the program has ended and its pipes are at their end, silent for
 * DRAIN_IDLE_MS, or DRAIN_CAP_MS have passed.
 */
int child_start(struct child *c) __attribute__((warn_unused_result));
/*
 * TERM to the group and to every descendant, KILL after KILL_GRACE_MS to what is left. done() still
 * comes, at the latest KILL_STUCK_MS after that: what even then is alive (stuck in the kernel) is
 * reaped whenever it ends, unseen.
 *
 * After done(): the same for what the command left behind, if child_left_any, and done() comes
 * again.
 */
void child_end(struct child *c);
/* Is there a descendant of a command that is done? */
bool child_left_any(const struct child *c);
/*
 * Signals all commands of that kin, those that run and what those that are done left behind; sig 0
 * only counts. Gives how many processes were reached.
 */
int child_signal_kin(const char *kin, int sig);
/* At exit: KILL everything that was started and is still there, also what calls left behind. */
void child_end_all(void);
/* How many commands run. */
int child_count(void);

/* Exit code as a shell would show it: 0-255, or minus the signal number. */
int child_exit_code(const struct child *c);

/* What children get as environment, secrets already out of it. Borrowed for good. */
void child_environment(char *const *env);
/* The value of a variable of that environment, NULL when it is not set. */
const char *child_variable(const char *name);
/* The descriptor limit the server was started with, for children, when it has raised its own. */
void child_descriptors(const struct rlimit *original);
/*
 * Finds an executable regular file `name` along PATH of that environment, or checks an absolute
 * name, into mem. 0 or -ENOENT / -EACCES.
 */
int child_find(const char *name, char *mem, size_t size) __attribute__((warn_unused_result));

#endif
