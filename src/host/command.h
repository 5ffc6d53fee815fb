/*
 * A program run for a job: its words put together, started, captured, limited in time, told of in
 * progress messages, ended when the call is cancelled.
 *
 *	s = command_new(j, sizeof(*s));     (the job's state, which begins with a struct command)
 *	command_program(&s->command, "git"); command_arg(...); ...
 *	return command_run(&s->command, limit_ms, next);
 *
 * A job may run several, one after the other: command_again, then from command_program on.
 */
#ifndef HOST_COMMAND_H
#define HOST_COMMAND_H

#include <limits.h>

#include "loop/child.h"
#include "mcp/tool.h"

enum { OMITTED_MAX = 80 }; /* bytes of command_put_omitted */

struct command {
	struct job *job;
	struct child child; /* status, timed_out and held are good in next() */
	struct capture out, err;
	int64_t limit_ms, began;
	int cwd; /* set by the caller: directory descriptor, owned from then on; -1: where the
		    server stands */
	const char *const *env;           /* set by the caller: as in struct child */
	const char *kin;                  /* set by the caller: likewise */
	void (*after)(struct command *c); /* set by the caller: runs when it has ended, however
					     that came, and must see to it that the job is woken
					     later; NULL: it is woken at once */
	bool hide_secrets; /* set by the caller: URLs in progress messages lose their passwords */

	bool erases; /* set by the caller: it redraws lines of standard error for progress */

	/* private */
	int bad; /* -errno of the first thing that failed while it was put together */
	size_t n;
	const char *argv[COMMAND_ARGS_MAX + 1]; /* ended by NULL */
	char path[PATH_MAX];
	struct timer tick;
	uint64_t told_out, told_err; /* bytes of output at the last progress message */
	struct capture *shown;       /* the stream whose last line was told */
};

/*
 * Makes the job's state, size bytes, zeroed, a struct command at its start; sets the job's cleanup
 * hook to command_cleanup. NULL when there is no memory for it. What fails after this is told by
 * command_run.
 */
void *command_new(struct job *j, size_t size);
/* Drops output and words of the command that has ended, keeps cwd. */
void command_again(struct command *c);
/* For a job's own cleanup hook: releases what the command holds. */
void command_cleanup(struct job *j);

/* The first word; a name is looked for along PATH. */
void command_program(struct command *c, const char *name);
/* bash -c line, or sh -c where there is no bash. */
void command_shell(struct command *c, struct slice line);
/* Further words. The first kind is borrowed, the second copied into the job's memory. */
void command_arg(struct command *c, const char *word);
void command_arg_slice(struct command *c, struct slice word);

/*
 * Starts it and parks the job until it has ended, then next. Or fails the call with the sentence of
 * command_put_failure. limit_ms 0: none. The job's cancel hook is set.
 */
enum step command_run(struct command *c, int64_t limit_ms, enum step (*next)(struct job *j));
/* Its two halves, for those who need more: 0, then job_wait is called by the caller, or -errno. */
int command_start(struct command *c, int64_t limit_ms) __attribute__((warn_unused_result));
enum step command_fail(struct command *c, int err);
/*
 * As command_start for a child that outlives the job and is the caller's: callbacks and captures
 * are set in it, program, words, environment and directory come from the command. 0 or -errno.
 */
int command_start_as(struct command *c, struct child *child) __attribute__((warn_unused_result));
/* Is there a shell for command_shell? */
bool command_has_shell(void);
/* Why it could not be started: "no shell here: ...", "git is not installed here", ... */
void command_put_failure(const struct command *c, int err, struct buf *b);

/* Did it end otherwise than with exit code 0 within its time? Good in next(). */
bool command_failed(const struct command *c);

/* A stream's kept text into the block that is open, with the marker where bytes were left out.
 * Gives its last byte, '\n' when there is none. */
char command_put_output(struct job *j, const struct capture *c);
/* That marker, at most OMITTED_MAX bytes. */
void command_put_omitted(struct buf *b, uint64_t omitted, uint64_t total);

#endif
