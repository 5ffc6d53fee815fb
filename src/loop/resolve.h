/*
 * Names of hosts become addresses without blocking the loop: numbers and "localhost" at once, all
 * other names in a worker, which waits for name servers.
 */
#ifndef LOOP_RESOLVE_H
#define LOOP_RESOLVE_H

#include "bounds.h"
#include "loop/loop.h"
#include "loop/worker.h"

struct resolve {
	/* Set by the caller. */
	const char *host; /* a name, or an address without brackets; borrowed until done() */
	void (*done)(struct resolve *r);

	/* The outcome. */
	int err; /* 0; -ENOENT no such name, -EAGAIN no name server answers, -ETIMEDOUT, -errno */
	int count;
	unsigned char address[RESOLVED_MAX][16]; /* in the order to try; see base/address.h */

	/* private */
	struct worker worker;
	struct timer limit;
	int pipe; /* the addresses come through it */
	int keep[2];
};

/*
 * 1: the outcome is there already, done() is not called. 0: done() comes once, from the loop,
 * within limit_ms. -errno: no worker could be started.
 */
int resolve_start(struct resolve *r, int64_t limit_ms) __attribute__((warn_unused_result));
/* The worker is killed, done() does not come any more. Only between a start that gave 0 and done().
 */
void resolve_cancel(struct resolve *r);

/* What an error of it means, for people. */
const char *resolve_error(int err);

#endif
