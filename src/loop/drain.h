/*
 * Pipes of calls that are answered while some process still writes to them: read and dropped, so
 * that the process is not stopped by a full pipe or killed by SIGPIPE.
 */
#ifndef LOOP_DRAIN_H
#define LOOP_DRAIN_H

#include <stddef.h>

/* READ_CHUNK bytes for all pipes of children: what is in it is good until the next read. */
char *drain_buffer(void);

/* Takes over the non-blocking reading end fd, watched by nobody. A full table closes its oldest. */
void drain_take(int fd);

#endif
