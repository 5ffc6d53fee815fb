/*
 * Which bytes of a text belong to a range of its lines. The text is fed in parts of any size;
 * nothing is kept of it. A line ends with LF and has a number from 1; bytes after the last LF are a
 * line too.
 */
#ifndef HOST_LINE_RANGE_H
#define HOST_LINE_RANGE_H

#include <stdint.h>

#include "base/slice.h"

struct line_range {
	int64_t from, end;   /* wanted: lines from <= n < end */
	size_t room;         /* bytes that may still be shown */
	unsigned over;       /* bytes shown beyond that, to complete a character */
	int64_t line;        /* the line that the next byte belongs to */
	bool open;           /* it has bytes already */
	int64_t first, last; /* lines shown so far, the last perhaps in part; 0, 0: none */
	bool cut;            /* the room was too small */
	int64_t resume;      /* when cut: the line to go on with */
};

/* count INT64_MAX: to the end. */
void range_start(struct line_range *r, int64_t from, int64_t count, size_t room);
/*
 * The bytes of part to be shown. The room may be overrun by up to three bytes that complete a UTF-8
 * sequence, so that a cut does not look like an error of the file.
 */
struct slice range_feed(struct line_range *r, struct slice part);
/* No byte fed from now on will be shown. */
bool range_done(const struct line_range *r);
/* Lines fed so far. */
int64_t range_lines(const struct line_range *r);

#endif
