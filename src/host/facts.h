/*
 * What there is to know about the machine, read without running anything: each function appends
 * lines, always at least one, also where /proc or /etc are missing.
 */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include <stdint.h>

#include "base/buf.h"

/* The first five lines of os-release. */
void facts_os(struct buf *b);
/* The file system that holds path: heading and one row, as df -h. */
void facts_disk(struct buf *b, const char *path);
/* Heading and two rows, as free -h. */
void facts_memory(struct buf *b);
/* Bytes that new programs could use without swapping; 0 when nothing tells. */
uint64_t facts_memory_available(void);

#endif
