/*
 * Output of a command, bounded: the first half and the last half of `keep` bytes stay, what lies
 * between is counted. Knows no descriptor.
 */
#ifndef LOOP_CAPTURE_H
#define LOOP_CAPTURE_H

#include <stdint.h>

#include "base/buf.h"
#include "bounds.h"

struct capture {
	struct buf b; /* head, then a ring for the tail */
	size_t keep;
	size_t at;                    /* where the ring is written next, from the start of b */
	uint64_t total;               /* bytes seen */
	char line[PROGRESS_TEXT_MAX]; /* what capture_last_line found */
	bool line_cut;                /* the line began before that */
};

/* Reserves address space for keep bytes. 0 or -ENOMEM. */
int capture_open(struct capture *c, size_t keep) __attribute__((warn_unused_result));
void capture_put(struct capture *c, struct slice s);
void capture_close(struct capture *c);

/*
 * What was kept, in order: parts[0] head, parts[1] and parts[2] tail. Gives how many bytes lie
 * omitted between head and tail; the cut never splits a UTF-8 sequence. When the memory budget ran
 * out less than keep is kept, and the count says so all the same. Good until the next capture_put.
 */
uint64_t capture_parts(const struct capture *c, struct slice parts[3]);
/* As capture_parts, with the tail in one piece: parts[1]; moves bytes for that. */
uint64_t capture_joined(struct capture *c, struct slice parts[2]);
/*
 * The end of the last line that is not blank, at most PROGRESS_TEXT_MAX bytes, without its newline
 * or carriage return (progress bars) and without what a terminal would obey (colours, movements);
 * empty when there is none. Good until the next call.
 */
struct slice capture_last_line(struct capture *c);

#endif
