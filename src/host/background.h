/*
 * Processes in the background: the table of those this server has started. They are ours: they end
 * with the server, and nothing outside of the table is ever signalled.
 *
 * Life of an entry: background_new -> background_start -> runs -> the program has ended -> nobody
 * holds its output any more -> gone, still told of until a new one needs the place.
 */
#ifndef HOST_BACKGROUND_H
#define HOST_BACKGROUND_H

#include "host/command.h"
#include "host/output_dir.h"
#include "host/output.h"

struct background {
	struct child child;
	struct output output;
	pid_t pid;
	uint64_t serial; /* no two entries have the same; 0: free */
	bool exited;     /* the program itself has ended: child.status is good */
	bool gone;       /* and so has its output */
	bool readable;   /* file_read reaches the file */
	int64_t since;   /* when it was started, seconds since 1970 */
	int64_t born;    /* the same as loop_now ... */
	int64_t died;    /* ... and when it had exited */
	char file[OUTPUT_NAME];
	char command[64]; /* its beginning, ended by NUL */
};

/* A free place, or that of the process that ended first; NULL when all run. */
struct background *background_new(void);
/* Starts the command there; line is what the client asked for. 0, or -errno for command_fail. */
int background_start(struct background *b, struct command *c, struct slice line)
	__attribute__((warn_unused_result));
/* By the number it has or had, the latest if there were several; NULL. */
struct background *background_find(int64_t pid);

/*
 * Ends what is there of it, as child_end does; it is gone a little later. 0, -ESRCH when nothing is
 * left, -EPERM when the program runs as somebody else.
 */
int background_end(struct background *b) __attribute__((warn_unused_result));
/* At the end of the server: ends all of them, and runs the loop until they are gone. */
void background_stop(void);

/* "running for 12 s", "exit code 1 after 0.3 s", "signal 15 after 3.0 s", and what there is of it.
 */
void background_put_state(const struct background *b, struct buf *to);
/* A sentence about where the output is. */
void background_put_where(const struct background *b, struct buf *to);
bool background_any(void);                /* has one been started? */
void background_put_list(struct buf *to); /* one line each, below 512 bytes as a rule */

#endif
