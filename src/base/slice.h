/*
 * Borrowed bytes: not ended by NUL, may hold NUL. Whoever hands one out says until when it is good.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
	const char *p;
	size_t n;
};

/* A string literal as a slice; its length without the NUL. */
#define LIT(s) ((struct slice){ (s), sizeof(s) - 1 })

/* The two arguments of "%.*s". */
#define SLICE(s) (int)(s).n, (s).p

static inline size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

static inline struct slice slice_of(const char *s)
{
	return (struct slice){ s, strlen(s) };
}

static inline struct slice slice_from(struct slice s, size_t at)
{
	if (at == 0)
		return s; /* NULL + 0 is undefined in C */
	return (struct slice){ s.p + at, s.n - at };
}

/* At most the first n bytes. */
static inline struct slice slice_head(struct slice s, size_t n)
{
	return (struct slice){ s.p, at_most(s.n, n) };
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_is(struct slice a, const char *s)
{
	return slice_eq(a, slice_of(s));
}

#endif
