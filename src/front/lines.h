/*
 * Framing of stdio: one message a line, LF or CR LF, blank lines skipped (MCP stdio transport).
 * Takes bytes in pieces of any size, knows no descriptor and keeps no text: the owner collects each
 * line where it wants it.
 */
#ifndef FRONT_LINES_H
#define FRONT_LINES_H

#include "base/slice.h"

struct lines {
	size_t len; /* bytes of the current line so far; not counted on above max */
	size_t max; /* a longer line is dropped up to its end */
	bool blank; /* nothing but blanks in it so far */
};

enum line_event {
	LINE_MORE,  /* part belongs to the line, which goes on (part may be empty) */
	LINE_END,   /* part is the last of the line */
	LINE_BLANK, /* the line held nothing: forget what was collected */
	LINE_LONG,  /* the line that ended here was too long: forget what was collected, say so */
};

void lines_init(struct lines *l, size_t max);
/*
 * Takes from *in what belongs to the current line, at most up to its end; *part is what to collect.
 * Call again while *in is not empty. Trailing CR and blanks are the JSON parser's to skip.
 */
enum line_event lines_take(struct lines *l, struct slice *in, struct slice *part);
/* The input has ended: LINE_END when an unfinished line is there, else LINE_BLANK or LINE_LONG. */
enum line_event lines_finish(struct lines *l);

#endif
