/*
 * JSON for people and for simple readers: two blanks a level, a member or element a line, in ASCII
 * (anything else as \uXXXX), as the standard library of Python writes it with indent=2. Numbers
 * stay as they came.
 */
#ifndef JSON_PRETTY_H
#define JSON_PRETTY_H

#include "base/buf.h"

/* json: one well-formed value, for instance what json_raw gives. */
void json_pretty(struct buf *b, struct slice json);

#endif
