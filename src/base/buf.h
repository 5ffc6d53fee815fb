/*
 * The one memory type: bytes that grow in place.
 *
 * A buf owns a run of address space reserved with no access rights. Writing opens pages (BUF_KEEP
 * first, then BUF_STEP at a time) up to `max` and up to one global budget; resetting gives them
 * back. The address never changes, so tokens and slices into a buf stay good while it grows. The
 * first BUF_KEEP bytes are not charged: an error answer can always be built.
 *
 * Invariants: len <= cap <= max; bytes below cap may be read and written; after a failed write
 * `failed` stays set until buf_cut or buf_reset, and every further write does nothing. A single
 * writer builds first and asks once.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>

#include "base/slice.h"

struct buf {
	char *p;
	size_t len;  /* bytes in use */
	size_t cap;  /* bytes opened */
	size_t max;  /* bytes reserved */
	size_t high; /* highest len that buf_cut or buf_drop left behind: what a wipe must reach */
	bool failed; /* a write did not fit */
	bool fixed;  /* over the caller's memory: never grows, never gives back */
};

/* The budget for the opened pages of all bufs together, in bytes; set once at start. */
void mem_set_budget(size_t bytes);
size_t mem_budget(void);
size_t mem_opened(void);
/* While on, pages open beyond the budget: an error must always find room to be said. */
void mem_overdraft(bool on);

/* Reserves max bytes of address space, opens none. 0 or -ENOMEM. */
int buf_reserve(struct buf *b, size_t max) __attribute__((warn_unused_result));
/* Has the buf, zeroed at first, what it needs? Reserves max bytes when it has none yet. */
bool buf_ready(struct buf *b, size_t max) __attribute__((warn_unused_result));
/*
 * Gives back pages and address space. The buf is then empty with max 0; a second release does
 * nothing.
 */
void buf_release(struct buf *b);
/* A buf over memory of the caller, which outlives it. */
void buf_over(struct buf *b, void *mem, size_t size);

/* Opens room for n more bytes; false (and failed) when max or the budget forbids. */
bool buf_room(struct buf *b, size_t n);
/* All n bytes or, when they do not fit, none. p may point into the same buf. */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_slice(struct buf *b, struct slice s);
/*
 * n zeroed bytes, aligned for any type, good until buf_cut below them or buf_reset; NULL when they
 * do not fit.
 */
void *buf_alloc(struct buf *b, size_t n) __attribute__((warn_unused_result));

/* Back to len bytes: what lies above is forgotten (not wiped) and `failed` cleared. */
void buf_cut(struct buf *b, size_t len);
/* Forgets n bytes at the front; the rest moves down. */
void buf_drop(struct buf *b, size_t n);
/*
 * Empty and wiped. keep: the first BUF_KEEP bytes stay open (decision 24), else all pages go back.
 */
void buf_reset(struct buf *b, bool keep);

static inline struct slice buf_all(const struct buf *b)
{
	return (struct slice){ b->p, b->len };
}

/* What has come behind its first `at` bytes. */
static inline struct slice buf_since(const struct buf *b, size_t at)
{
	return slice_from(buf_all(b), at);
}

/*
 * Formatting (fmt.c): a small subset of printf, so that no floating point comes with it.
 * Conversions: %s %.*s %c %d %u %x %ld %lu %lld %llu %zu %% and a field width with optional '-' or
 * '0'. NULL for %s prints "(null)". What does not fit whole is not written at all.
 */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The same as a C string in mem of size bytes. 0, or -ENAMETOOLONG and an empty one. */
int str_printf(char *mem, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
