/*
 * What a background process writes, within bounds: in a file, or in memory where none can be
 * written.
 *
 * The file can be read at any time. Its first line tells the state of the process and is written
 * anew in place; the second is the command; then comes the output. A full file loses lines from its
 * middle, again and again: the first half stays, then a line says how many bytes are omitted, then
 * comes the latest. When the disk is full the rest is kept in memory, its middle left out likewise,
 * and put into the file at the end if there is room then.
 */
#ifndef HOST_OUTPUT_H
#define HOST_OUTPUT_H

#include "loop/capture.h"

enum { OUTPUT_STATE_LEN = 128 }; /* of the first line, its newline included */

struct output {
	int fd;         /* -1: no file, or closed */
	int err;        /* 0, or why what comes is kept in memory */
	uint64_t total; /* bytes that came */
	struct capture kept;

	/* private */
	int64_t max, size; /* of the file */
	int64_t start;     /* of the output in it */
	int64_t head;      /* where its first half ends */
	uint64_t omitted;  /* bytes left out after that */
	char last;         /* byte in the file */
};

/*
 * A new file of at most max bytes (OUTPUT_MIN and more) in directory dir. 0 or -errno; then o is
 * one that keeps all in memory. The descriptor is locked (flock) as long as the process may write.
 */
int output_open(struct output *o, int dir, const char *name, struct slice command, int64_t max);
/* In memory from the start, because of err. */
void output_in_memory(struct output *o, int err);

void output_put(struct output *o, struct slice s);
/* What the first line says; cut to its length. */
void output_state(struct output *o, struct slice state);
/* No more will come: a last line is put behind what came. */
void output_end(struct output *o, struct slice last_line);
void output_close(struct output *o); /* the file; what memory keeps stays */
void output_drop(struct output *o);  /* both; the file itself stays */

#endif
