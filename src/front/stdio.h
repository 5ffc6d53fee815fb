/*
 * The stdio transport: JSON-RPC messages, one a line, on descriptors 0 and 1. Answers leave in the
 * order they are ready, whole lines only.
 *
 * End of input lets what runs finish, then ends the loop with 0. A gone reader ends everything at
 * once.
 */
#ifndef FRONT_STDIO_H
#define FRONT_STDIO_H

#include <stdint.h>

/* Starts serving; the loop then runs it. 0 or -errno. */
int stdio_start(void) __attribute__((warn_unused_result));
/* Reads no more, gives what runs grace_ms to end, then ends it with an error answer, then ends the
 * loop with 0. */
void stdio_stop(int64_t grace_ms);
/* Puts descriptors back as they were found (they are shared with whoever started us). */
void stdio_restore(void);

#endif
