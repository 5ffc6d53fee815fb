/*
 * What heads of requests and of replies have in common: lines, field names and values (RFC 9110
 * section 5, RFC 9112 section 2). Takes bytes, knows no descriptor.
 */
#ifndef HTTP_FIELD_H
#define HTTP_FIELD_H

#include <stdint.h>

#include "base/slice.h"

/*
 * Length of the head at the start of in, its empty line included; 0 when the empty line is not
 * there yet. *scanned (0 at first) remembers how far was looked, so that bytes that trickle in are
 * looked at once.
 */
size_t http_head_end(struct slice in, size_t *scanned);

/* The next line without its CR LF (or LF). */
struct slice http_line_take(struct slice *rest);
/*
 * Takes a line apart. The value has no blanks at its ends. False: no token before the colon, no
 * colon, or controls in the value (a folded line has no token).
 */
bool http_field_split(struct slice line, struct slice *name, struct slice *value);

/* RFC 9110 section 5.6.2 */
bool http_is_token(struct slice s);
/* Anything but controls; a tab is allowed. RFC 9110 section 5.5. */
bool http_is_value(struct slice s);
/* What a target may hold: no blanks, controls or bytes beyond ASCII; at least one byte. */
bool http_is_target(struct slice s);
/* ASCII letters in either case. */
bool http_same(struct slice a, const char *b);
/* Is the word one of a list with commas? In either case. */
bool http_list_has(struct slice list, const char *word);
/* "HTTP/1.1": its two digits. False: no such version. */
bool http_version(struct slice s, int *major, int *minor);
/* A Content-Length: digits alone, so that nobody reads it otherwise. False: none, or too many. */
bool http_length(struct slice s, int64_t *length);

#endif
