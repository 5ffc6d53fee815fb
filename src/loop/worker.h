/*
 * Work too long for the loop (copying, removing a tree, a large fsync), done by a forked copy of
 * the process.
 *
 * The copy keeps only its own pipe and the descriptors named; a parent-death signal ends it with
 * the server. What it finds out comes back as one struct outcome through the pipe.
 */
#ifndef LOOP_WORKER_H
#define LOOP_WORKER_H

#include "loop/proc.h"

struct outcome {
	int err;   /* 0 or -errno; -ECANCELED when the worker died before it could say */
	int which; /* meaning belongs to the work: for instance which of two paths failed */
};

struct worker {
	/* Set by the caller. */
	void (*work)(struct worker *w, struct outcome *o); /* runs in the copy */
	/* Runs in the loop, exactly once after worker_start gave 0. */
	void (*done)(struct worker *w);
	const int *keep; /* descriptors the work needs, ended by -1; may be NULL */

	struct outcome outcome; /* good in done() */

	/* private */
	struct proc proc;
	int pipe;
};

int worker_start(struct worker *w) __attribute__((warn_unused_result)); /* 0 or -errno */
/* KILL; done() still comes, with -ECANCELED unless the outcome was already there. */
void worker_end(struct worker *w);
/* KILL; done() does not come any more, *w may go. Only before done(). */
void worker_drop(struct worker *w);

#endif
