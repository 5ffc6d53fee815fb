/*
 * Writing JSON into a buf. Commas and nesting are kept by the writer; an error is the buf's sticky
 * `failed`. Strings may hold any bytes: controls are escaped (RFC 8259 section 7), ill-formed UTF-8
 * becomes U+FFFD. Keys are literals of ours and are written as they are. key NULL: an array element
 * or the root.
 */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include <stdint.h>

#include "base/buf.h"

struct jw {
	struct buf *out;
	uint64_t comma;  /* bit d: level d already has an element */
	uint64_t arrays; /* bit d: level d is an array */
	int depth;
	unsigned char tail[4]; /* unfinished UTF-8 sequence between two jw_text parts */
	unsigned tail_len;
	size_t repaired; /* ill-formed sequences replaced since jw_init or the last jw_text_open */
};

void jw_init(struct jw *w, struct buf *out);
void jw_object(struct jw *w, const char *key);
void jw_array(struct jw *w, const char *key);
void jw_close(struct jw *w); /* the innermost object or array */
void jw_str(struct jw *w, const char *key, struct slice s);
void jw_puts(struct jw *w, const char *key, const char *s);
void jw_vprintf(struct jw *w, const char *key, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0))); /* of any length: it is not collected first */
void jw_int(struct jw *w, const char *key, int64_t v);
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_raw(struct jw *w, const char *key, struct slice json); /* already JSON */

/* One string in parts of any size; a UTF-8 sequence may be split between parts. */
void jw_text_open(struct jw *w, const char *key);
void jw_text(struct jw *w, struct slice part);
void jw_text_printf(struct jw *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void jw_text_vprintf(struct jw *w, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void jw_text_close(struct jw *w);

#endif
