#include "tls/der.h"

#include "base/clock.h"

/* The length at the front of *in: one byte, or 0x81 to 0x83 and so many bytes. */
static bool length_take(struct slice *in, size_t *n)
{
	const unsigned char *p = (const unsigned char *)in->p;
	size_t more;

	if (in->n == 0)
		return false;
	*n = p[0];
	more = p[0] & 0x80 ? p[0] & 0x7fu : 0;
	if (p[0] & 0x80 && (more < 1 || more > 3))
		return false;
	if (in->n < 1 + more)
		return false;
	if (more > 0) {
		*n = 0;
		for (size_t i = 1; i <= more; i++)
			*n = *n << 8 | p[i];
		if (p[1] == 0 || *n < 0x80)
			return false;
	}
	*in = slice_from(*in, 1 + more);
	return true;
}

bool der_next(struct slice *in, struct der *out)
{
	struct slice rest = *in;
	size_t n;

	if (rest.n < 2 || (rest.p[0] & 0x1f) == 0x1f)
		return false;
	out->tag = (unsigned char)rest.p[0];
	rest = slice_from(rest, 1);
	if (!length_take(&rest, &n) || n > rest.n)
		return false;
	out->value = slice_head(rest, n);
	rest = slice_from(rest, n);
	out->whole = slice_head(*in, in->n - rest.n);
	*in = rest;
	return true;
}

bool der_take(struct slice *in, enum der_tag tag, struct slice *value)
{
	struct slice rest = *in;
	struct der d;

	if (!der_next(&rest, &d) || d.tag != (int)tag)
		return false;
	*in = rest;
	*value = d.value;
	return true;
}

bool der_take_unsigned(struct slice *in, struct slice *value)
{
	if (!der_take(in, DER_INTEGER, value) || value->n == 0 || value->p[0] & 0x80)
		return false;
	while (value->n > 0 && value->p[0] == 0)
		*value = slice_from(*value, 1);
	return value->n > 0;
}

bool der_take_bits(struct slice *in, struct slice *value)
{
	if (!der_take(in, DER_BIT_STRING, value) || value->n == 0 || value->p[0] != 0)
		return false;
	*value = slice_from(*value, 1);
	return true;
}

/* --- times --- */

static bool digits_take(struct slice *s, size_t n, int *out)
{
	*out = 0;
	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9')
			return false;
		*out = *out * 10 + (s->p[i] - '0');
	}
	*s = slice_from(*s, n);
	return true;
}

/* Does u stand for a second that exists? A date that does not comes back as another one. */
static bool exists(const struct utc *u, int64_t unix_s)
{
	struct utc back;

	utc_from(&back, unix_s);
	return back.year == u->year && back.month == u->month && back.day == u->day &&
	       back.hour == u->hour && back.minute == u->minute && back.second == u->second;
}

bool der_take_time(struct slice *in, int64_t *unix_s)
{
	struct slice s;
	struct utc u;
	bool two = der_take(in, DER_UTC_TIME, &s);

	if (!two && !der_take(in, DER_GENERALIZED_TIME, &s))
		return false;
	if (!digits_take(&s, two ? 2 : 4, &u.year) || !digits_take(&s, 2, &u.month) ||
		!digits_take(&s, 2, &u.day) || !digits_take(&s, 2, &u.hour) ||
		!digits_take(&s, 2, &u.minute) || !digits_take(&s, 2, &u.second) ||
		!slice_is(s, "Z"))
		return false;
	if (two)
		u.year += u.year < 50 ? 2000 : 1900;
	if (u.month < 1 || u.month > 12)
		return false;
	*unix_s = utc_to(&u);
	return exists(&u, *unix_s);
}
