/*
 * One call of spawn_sandboxes, in three files:
 *
 *	spawn_make.c   asks the master for sandboxes, in the words that it understands
 *	spawn_look.c   looks at them until all run, or it is too late
 *	spawn.c        tells the outcome, deletes what has failed; when nobody is left to be told
 *	               the tokens, deletes them all
 */
#ifndef PROXY_SPAWN_H
#define PROXY_SPAWN_H

#include "proxy/boxes.h"

enum { SPAWN_ERROR_MAX = 600 };

/* Positions in the tool's arguments. */
enum { SPAWN_TEMPLATE, SPAWN_TAG, SPAWN_N, SPAWN_START };

struct spawn {
	struct master_call call;
	struct boxes boxes;

	/* making */
	bool posting;         /* a request is under way, or its reply not yet looked at */
	int alias;            /* which of the names of `tag` is tried */
	struct slice refused; /* what the master has said to the first of them */

	/* looking; times are loop_now's */
	int64_t began;               /* when the first look was due */
	int64_t deadline;            /* for all to be started */
	int64_t round;               /* when the present round of looks began */
	int64_t looked;              /* when the last look began */
	int at;                      /* the sandbox looked at */
	char error[SPAWN_ERROR_MAX]; /* of the last look, when it failed */
	size_t error_len;

	/* deleting */
	struct removal removal;
	int removing;          /* the next sandbox to look at */
	bool all;              /* also those that have started */
	int64_t until;         /* by when that is over */
	struct timer patience; /* with a request whose reply would tell what to delete */
};

/* Steps: the first request, then the first look, then the answer. */
enum step spawn_make(struct job *j);
enum step spawn_look(struct job *j);
enum step spawn_finish(struct job *j);
/* The step when memory is used up: all that was made is deleted, and that is said. */
enum step spawn_give_up(struct job *j);

/* The cancel hook while a request is under way that makes sandboxes: its reply may still come. */
void spawn_make_cancel(struct job *j);

#endif
