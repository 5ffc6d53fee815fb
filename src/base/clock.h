/*
 * Time without time zones: monotonic milliseconds for deadlines, UTC for what people read.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/buf.h"

struct utc {
	int year, month, day, hour, minute, second; /* month and day from 1 */
};

int64_t clock_ms(void);   /* CLOCK_MONOTONIC */
int64_t clock_unix(void); /* seconds since 1970 */
int64_t clock_unix_ms(void);
/* Not before this program was made: a machine without a battery begins in 1970. */
bool clock_plausible(int64_t unix_s);
void utc_from(struct utc *u, int64_t unix_s);      /* proleptic Gregorian, any sign */
int64_t utc_to(const struct utc *u);               /* of a date that exists */
void clock_put_iso(struct buf *b, int64_t unix_s); /* 2026-01-31T12:00:00Z */
/* RFC 9110 section 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT */
void clock_put_http(struct buf *b, int64_t unix_s);

#endif
