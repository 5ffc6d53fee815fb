#include "base/clock.h"

#include <time.h>

#include "bounds.h"

int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool clock_plausible(int64_t unix_s)
{
	return unix_s >= CLOCK_PLAUSIBLE_MIN;
}

int64_t clock_unix(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

int64_t clock_unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Division that rounds down, so that times before the epoch keep their order; *rest gets 0 .. by-1.
 */
static int64_t split(int64_t v, int64_t by, int64_t *rest)
{
	int64_t q = v / by - (v % by < 0);

	*rest = v - q * by;
	return q;
}

/*
 * Days since 1970 to a date, by eras of 400 years that start on 1 March, so that the leap day is a
 * year's last.
 */
static void date_from(struct utc *u, int64_t days)
{
	int64_t in_era, era = split(days + 719468, 146097, &in_era);
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t day = in_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * day + 2) / 153;

	u->day = (int)(day - (153 * month + 2) / 5 + 1);
	u->month = (int)(month < 10 ? month + 3 : month - 9);
	u->year = (int)(year + era * 400 + (u->month <= 2));
}

/* The other way round. */
static int64_t date_to(const struct utc *u)
{
	int64_t in_era, era = split((int64_t)u->year - (u->month <= 2), 400, &in_era);
	int64_t month = u->month + (u->month > 2 ? -3 : 9);
	int64_t day = (153 * month + 2) / 5 + u->day - 1;

	return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + day - 719468;
}

int64_t utc_to(const struct utc *u)
{
	return ((date_to(u) * 24 + u->hour) * 60 + u->minute) * 60 + u->second;
}

void utc_from(struct utc *u, int64_t unix_s)
{
	/* A thousand million years: a year still fits an int. */
	const int64_t most = INT64_C(1) << 55;
	int64_t days, s;

	if (unix_s > most)
		unix_s = most;
	if (unix_s < -most)
		unix_s = -most;
	days = split(unix_s, 86400, &s);
	date_from(u, days);
	u->hour = (int)(s / 3600);
	u->minute = (int)(s / 60 % 60);
	u->second = (int)(s % 60);
}

void clock_put_iso(struct buf *b, int64_t unix_s)
{
	struct utc u;

	utc_from(&u, unix_s);
	buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02dZ", u.year, u.month, u.day, u.hour, u.minute,
		u.second);
}

void clock_put_http(struct buf *b, int64_t unix_s)
{
	static const char days[] = "ThuFriSatSunMonTueWed"; /* 1970-01-01 was a Thursday */
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t s, day = split(unix_s, 86400, &s) % 7;
	struct utc u;

	utc_from(&u, unix_s);
	buf_printf(b, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
		days + 3 * (day < 0 ? day + 7 : day), u.day, months + 3 * (u.month - 1), u.year,
		u.hour, u.minute, u.second);
}
