/*
 * Lines of a listing on their way into the answer: built one at a time, together no more than a
 * bound.
 */
#ifndef HOST_LIST_OUT_H
#define HOST_LIST_OUT_H

#include "mcp/tool.h"

enum {
	LIST_CHUNK = 32 * KIB, /* directory entries read at once */
	LIST_SLICE_MS = 10,    /* entries of a cold disk are slow: turns are cut by time, too */
};

struct list_out {
	struct buf line; /* the line being built, without its end */
	size_t room;     /* bytes of text that still fit */
	bool begun;      /* there is a line already: the next one is parted from it */
};

/* Takes memory from the job and begins the answer. 0 or -ENOMEM. */
int list_out_start(struct list_out *o, struct job *j) __attribute__((warn_unused_result));
/*
 * Puts the line out, parted from the one before; it stays as it is. False, and nothing put, when
 * there is no room.
 */
bool list_out_line(struct list_out *o, struct job *j);

/* May this turn of the loop go on, having begun at start (clock_ms) and seen so many entries? */
bool list_turn_left(int64_t start, size_t seen);

#endif
