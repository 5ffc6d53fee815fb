/*
 * Secrets taken out of what people will read: of requests, replies and what is quoted of them. Each
 * becomes "***". Takes bytes, knows no descriptor.
 */
#ifndef HTTP_MASK_H
#define HTTP_MASK_H

#include "base/buf.h"

enum { MASK_SECRETS_MAX = 4 };

/* The secrets that a request carries; slices into its fields. */
struct mask {
	struct slice secret[MASK_SECRETS_MAX];
	int n;
	struct slice members; /* names between blanks whose strings are secret, too */
};

/*
 * The last word of each "Name: value\r\n" line: what callers add to a request is there to prove who
 * they are, whatever the field is called.
 */
void mask_from(struct mask *m, struct slice fields);
/*
 * How many bytes at the start of text are one of the secrets, also with backslashes before some of
 * its characters, also only its beginning when text ends in it. 0: none.
 */
size_t mask_at(const struct mask *m, struct slice text);

/* Lines of a head. Fields that hold a secret by their name are masked, too. */
void mask_put_head(const struct mask *m, struct buf *b, struct slice text);
/*
 * Any text, mostly JSON: also the strings that a member with "token" in its name holds, alone or in
 * an array.
 */
void mask_put_body(const struct mask *m, struct buf *b, struct slice text);
/* In one line and in quotes: what is no printable ASCII as \xNN. Of the first n bytes of text. */
void mask_put_quoted(const struct mask *m, struct buf *b, struct slice text, size_t n);

#endif
