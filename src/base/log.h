/*
 * One line an event on stderr, never blocking: a full pipe drops the line and the next line that
 * fits says how many were dropped.
 *
 * Text form: 2026-01-31T12:00:00Z info message key=value ...
 *
 * JSON form: {"ts":"...","level":"info","msg":"message","key":"value"}.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

#include "base/slice.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_field {
	const char *key;
	struct slice text; /* used when text.p is set, else number */
	int64_t number;
};

void log_setup(enum log_level most, bool json);
/*
 * fields: an array ended by a NULL key, or NULL. Values are escaped; secrets are the caller's duty
 * to leave out.
 */
void log_event(enum log_level level, const char *msg, const struct log_field *fields);

#endif
