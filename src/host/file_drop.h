/*
 * Letting go of a file that has no name any more: its blocks are freed when the last descriptor is
 * closed, which for a large file takes longer than the loop may stand still.
 */
#ifndef HOST_FILE_DROP_H
#define HOST_FILE_DROP_H

#include "loop/worker.h"
#include "mcp/job.h"

struct file_drop {
	struct job *job;
	struct worker worker;
	int keep[2];
};

/*
 * A descriptor that keeps the file at dir/name alive while its name is removed or replaced, when
 * that is worth it; else -1, also when there is no such file.
 */
int file_drop_hold(int dir, const char *name);

/* Closes *fd (-1: nothing to do), a large file in a worker, and goes on with next. */
enum step file_drop(struct job *j, struct file_drop *d, int *fd, enum step (*next)(struct job *j));

#endif
