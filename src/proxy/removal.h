/*
 * Deleting sandboxes, several at a time, within a time limit. Lives in the memory of the job that
 * waits for it.
 */
#ifndef PROXY_REMOVAL_H
#define PROXY_REMOVAL_H

#include "http/client.h"
#include "mcp/job.h"

enum { REMOVAL_LANES = 4, REMOVAL_TARGET_MAX = 1100 };

struct doomed {
	struct slice id;
	bool removed; /* the master has deleted it, or has never heard of it */
};

struct removal {
	/* Set by the owner: the next one to delete, NULL: that was the last. */
	struct doomed *(*next)(struct removal *r);
	/* Set by the owner; called once, from the loop. */
	void (*done)(struct removal *r);

	/* private */
	struct lane {
		struct http_call http;
		struct removal *removal;
		struct doomed *doomed; /* NULL: nothing under way */
		char target[REMOVAL_TARGET_MAX];
	} lanes[REMOVAL_LANES];
	char fields[2048];
	size_t fields_len;
	struct timer limit;
};

void removal_start(struct removal *r, int64_t limit_ms);
/* Nobody is told. Fine also for one that never started or is done. */
void removal_abort(struct removal *r);

#endif
