/*
 * The formatter behind buf_printf, for writers that are more than a buf. It gives its text away in
 * parts and keeps nothing; the conversions are listed in base/buf.h, an unknown one is put as it
 * stands.
 */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <stdarg.h>

#include "base/slice.h"

struct fmt_sink {
	void (*put)(struct fmt_sink *to, struct slice part); /* part is good during the call */
};

void fmt_to(struct fmt_sink *to, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
