/*
 * JSON grammar (RFC 8259) as a push machine: takes bytes in pieces of any size, knows no
 * descriptor, keeps no text. jsmn, which only tokenizes, never sees a text this machine has not
 * passed: it would accept many malformed ones, and its time grows with the square of the depth.
 *
 * Refused: anything outside the grammar, nesting above JSON_DEPTH_MAX, raw control bytes in
 * strings, ill-formed UTF-8, NUL. Escaped lone surrogates are accepted here (decision 55); argument
 * binding refuses them by name.
 */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include <stdint.h>

#include "base/slice.h"

enum json_event {
	JSON_MARK,  /* punctuation, a number or a literal, or a part of these */
	JSON_OPEN,  /* { or [; depth counts it already */
	JSON_CLOSE, /* } or ]; depth does not count it any more */
	JSON_QUOTE, /* " that begins a string; key tells which kind */
	JSON_TEXT,  /* what stands in the string, as it is written */
	JSON_UNQUOTE,
};

struct json_check {
	/*
	 * Is told every byte that passes, in order and in pieces, but for the blanks between
	 * tokens: whoever copies them has the same text without blanks. May not call the machine.
	 * NULL: nobody listens. Set after json_check_init.
	 */
	void (*told)(struct json_check *c, enum json_event e, struct slice bytes);
	uint64_t objects; /* bit d: level d is an object, not an array */
	int depth;
	int state;            /* private to json_check.c */
	int sub;              /* what is still to come of an escape or a UTF-8 sequence */
	const char *rest;     /* what is still to come of true, false or null */
	unsigned char lo, hi; /* bounds of the next UTF-8 continuation byte */
	bool key;             /* the string being read names a member */
	size_t tokens;        /* keys and values begun */
	size_t offset;        /* bytes taken; after an error the offset of the offending byte */
};

void json_check_init(struct json_check *c);
/* 0: fine so far. -EBADMSG: malformed. -E2BIG: too deep. Errors are sticky. */
int json_check_feed(struct json_check *c, struct slice in) __attribute__((warn_unused_result));
/*
 * The text has ended: 0 when it was exactly one JSON value (blanks around it allowed), else
 * -EBADMSG.
 */
int json_check_end(struct json_check *c) __attribute__((warn_unused_result));

#endif
