/*
 * The sessions' state file, sessions.jsonl in the state directory.
 *
 * A line is written at once and synced by a worker; who must not answer before it is safe waits for
 * that. One sync serves all lines written before it began. When the file has become long, or is not
 * there any more, the whole table is written beside it, synced, and takes its name.
 *
 * The file belongs to one server. Another one with the same state directory, or one that has none
 * it could write, keeps its sessions in memory: everything here then succeeds and does nothing.
 */
#ifndef HOST_SESSION_FILE_H
#define HOST_SESSION_FILE_H

#include "host/session.h"

/*
 * Reads the file into the table, which is borrowed for good, and writes it anew; blocks, for the
 * time before the loop runs. 0, also when there is no file yet; -errno: nothing will be kept
 * (-EBUSY: the file is another server's).
 */
int session_file_open(struct session_table *t, int64_t now) __attribute__((warn_unused_result));
/*
 * Adds lines, of which the table already knows. 0, or -errno and the file is as before. They are
 * synced before long, whether somebody waits or not.
 */
int session_file_add(struct slice lines) __attribute__((warn_unused_result));

struct session_sync {
	void (*done)(
		struct session_sync *s); /* from the loop, once; never from session_file_wait */
	int err;                         /* 0 or -errno, good in done() */

	/* private */
	struct session_sync *next;
	uint64_t upto;
	bool queued;
};

/* Until all that was added so far is safe. False: it is, and done() will not be called. */
bool session_file_wait(struct session_sync *s);
/* done() is not called any more. */
void session_file_forget(struct session_sync *s);

#endif
