/*
 * Measuring the text of a JSON string as it is written (between the quotes, as json_check passes
 * it), character by character: an escaped surrogate pair is one character.
 */
#ifndef JSON_SPAN_H
#define JSON_SPAN_H

#include <stdint.h>

#include "base/slice.h"

struct json_span {
	size_t written; /* bytes of JSON */
	uint64_t text;  /* bytes of UTF-8 that they stand for; half of a surrogate pair has three */
};

/* The first character of s, which is not empty and holds it whole. */
struct json_span json_span_first(struct slice s);
/* The longest run of characters from the start of s with at most so many bytes of text. */
struct json_span json_span_upto(struct slice s, uint64_t most);
/* The shortest run from the start with at least so many, or all of s. */
struct json_span json_span_atleast(struct slice s, uint64_t least);
/* The shortest run after which at most `rest` bytes of s are left. The last one may be cut short
 * when it is among these. */
struct json_span json_span_leaving(struct slice s, size_t rest);

enum { JSON_ESCAPE_MAX = 6 }; /* bytes of JSON for one of text */

#endif
