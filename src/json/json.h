/*
 * Reading JSON: jsmn behind lookups and typed getters. Only json_read.c knows jsmn.
 *
 * A struct json binds tokens to the one text they belong to; both are borrowed: the text from its
 * owner, the tokens from the buf given to json_parse. Values are named by token index; 0 is the
 * root. The text is writable: json_str unescapes a string in place, once (decision 39).
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <stdint.h>

#include "base/buf.h"

struct jsmntok;

struct json {
	char *text;
	size_t len;
	struct jsmntok *tok;
	int n;
};

enum json_type {
	JSON_NONE,
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL
};

/*
 * Checks, counts, allocates exactly, tokenizes. 0, -EBADMSG malformed, -E2BIG too deep or too many
 * tokens, -ENOMEM.
 */
int json_parse(struct json *d, char *text, size_t len, struct buf *mem)
	__attribute__((warn_unused_result));

/* JSON_NONE for a negative index, so that a failed lookup can be asked for its type. */
enum json_type json_type(const struct json *d, int at);

/* Number of members or elements; 0 for other types. */
int json_count(const struct json *d, int at);
/* First member's key or first element, -1 when empty. */
int json_first(const struct json *d, int at);
/* The value of a key token. */
static inline int json_value(int key)
{
	return key + 1;
}
/*
 * Token after the whole value (or, for a key, after its value) at `at` inside container `in`; -1 at
 * the end. Walking a container this way is linear in its tokens.
 */
int json_next(const struct json *d, int in, int at);
/* Does key token `at` spell name? Escapes in the key are honoured, an escaped NUL never matches. */
bool json_key_is(const struct json *d, int at, const char *name);
/* First member called key: its value's token, or -1 (also when obj is no object). */
int json_get(const struct json *d, int obj, const char *key);

/*
 * One pass over an object: found[i] = value token of names[i], or -1. 0, or -EEXIST when a wanted
 * name stands twice (found then holds the first), or -EINVAL when obj is not an object (all -1).
 */
int json_pick(const struct json *d, int obj, const char *const *names, int count, int *found)
	__attribute__((warn_unused_result));

/*
 * The value's text as it came: quotes and escapes included. Good as long as the text is untouched
 * at that place.
 */
struct slice json_raw(const struct json *d, int at);
/*
 * String contents, unescaped in place; may be asked again. 0, -EINVAL when not a string, -EILSEQ
 * for an escaped lone surrogate (nothing is changed then). The slice points into the text.
 */
int json_str(struct json *d, int at, struct slice *out) __attribute__((warn_unused_result));
/* True when `at` is a string equal to s (compared without changing the text). */
bool json_str_eq(const struct json *d, int at, struct slice s);
bool json_str_is(const struct json *d, int at, const char *s);
/* A number written without fraction and exponent, of any size. */
bool json_is_integer(const struct json *d, int at);
/*
 * An integer written as one: optional '-', digits. 0, -EINVAL other type or a fraction/exponent,
 * -ERANGE.
 */
int json_int(const struct json *d, int at, int64_t *out) __attribute__((warn_unused_result));

#endif
