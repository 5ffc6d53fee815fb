#include "base/str.h"

#include <errno.h>

#include "base/ascii.h"

/* v * 10 + digit, or false when that is above max. */
static bool add_digit(uint64_t *v, unsigned digit, uint64_t max)
{
	if (*v > (max - digit) / 10)
		return false;
	*v = *v * 10 + digit;
	return true;
}

static uint64_t magnitude_max(bool negative)
{
	return (uint64_t)INT64_MAX + negative;
}

static int64_t with_sign(uint64_t v, bool negative)
{
	return negative ? (int64_t)(0 - v) : (int64_t)v;
}

int str_int(struct slice s, int64_t *out)
{
	bool negative = s.n > 0 && s.p[0] == '-', fits = true;
	uint64_t v = 0;
	size_t i = negative;

	if (i == s.n)
		return -EBADMSG;
	for (; i < s.n; i++) {
		if (!ascii_digit(s.p[i]))
			return -EBADMSG;
		fits = fits && add_digit(&v, (unsigned)(s.p[i] - '0'), magnitude_max(negative));
	}
	if (!fits)
		return -ERANGE;
	*out = with_sign(v, negative);
	return 0;
}

/* A number taken apart: digits of the whole part, digits behind the point, exponent. */
struct number {
	struct slice whole, part;
	int64_t exponent;
	bool negative;
};

static struct slice take_digits(struct slice *s)
{
	struct slice d = { s->p, 0 };

	while (d.n < s->n && ascii_digit(s->p[d.n]))
		d.n++;
	*s = slice_from(*s, d.n);
	return d;
}

/* Beyond what any text of ours can balance with digits the exponent stops growing. */
static bool take_exponent(struct slice *s, int64_t *out)
{
	const int64_t enough = INT64_C(1) << 50;
	bool negative = s->n > 0 && s->p[0] == '-';
	struct slice d;
	size_t i;

	if (negative || (s->n > 0 && s->p[0] == '+'))
		*s = slice_from(*s, 1);
	d = take_digits(s);
	for (i = 0; i < d.n; i++)
		if (*out < enough)
			*out = *out * 10 + (d.p[i] - '0');
	if (negative)
		*out = -*out;
	return d.n > 0;
}

/* RFC 8259 section 6. */
static bool take_number(struct slice s, struct number *x)
{
	*x = (struct number){ .negative = s.n > 0 && s.p[0] == '-' };
	s = slice_from(s, x->negative);
	x->whole = take_digits(&s);
	if (x->whole.n == 0 || (x->whole.n > 1 && x->whole.p[0] == '0'))
		return false;
	if (s.n > 0 && s.p[0] == '.') {
		s = slice_from(s, 1);
		x->part = take_digits(&s);
		if (x->part.n == 0)
			return false;
	}
	if (s.n > 0 && (s.p[0] == 'e' || s.p[0] == 'E')) {
		s = slice_from(s, 1);
		if (!take_exponent(&s, &x->exponent))
			return false;
	}
	return s.n == 0;
}

int str_milli(struct slice s, int64_t *out, bool *exact)
{
	struct number x;
	uint64_t v = 0, max;
	bool cut = false;
	int64_t keep, i;
	char c;

	if (!take_number(s, &x))
		return -EBADMSG;
	max = magnitude_max(x.negative);
	keep = (int64_t)x.whole.n + x.exponent + 3;
	for (i = 0; i < (int64_t)(x.whole.n + x.part.n); i++) {
		c = i < (int64_t)x.whole.n ? x.whole.p[i] : x.part.p[i - (int64_t)x.whole.n];
		if (i >= keep)
			cut = cut || c != '0';
		else if (!add_digit(&v, (unsigned)(c - '0'), max))
			return -ERANGE;
	}
	for (; v > 0 && i < keep; i++)
		if (!add_digit(&v, 0, max))
			return -ERANGE;
	*out = with_sign(v, x.negative);
	if (exact)
		*exact = !cut;
	return 0;
}

bool str_has(struct slice s, char c)
{
	return s.n > 0 && memchr(s.p, c, s.n);
}

bool str_starts(struct slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return n <= s.n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

const char *str_find(struct slice s, struct slice what)
{
	const char *at;

	while (s.n >= what.n) {
		at = memchr(s.p, what.p[0], s.n - what.n + 1);
		if (!at || memcmp(at, what.p, what.n) == 0)
			return at;
		s = slice_from(s, (size_t)(at - s.p) + 1);
	}
	return NULL;
}

bool str_only(struct slice s, const char *marks)
{
	size_t i = 0;

	while (i < s.n && (ascii_alnum(s.p[i]) || (s.p[i] && strchr(marks, s.p[i]))))
		i++;
	return i == s.n;
}

bool str_same(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct slice str_trim_start(struct slice s)
{
	while (s.n > 0 && is_blank(s.p[0]))
		s = slice_from(s, 1);
	return s;
}

struct slice str_trim_end(struct slice s)
{
	while (s.n > 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct slice str_trim(struct slice s)
{
	return str_trim_end(str_trim_start(s));
}

struct slice str_split(struct slice *rest, char c)
{
	const char *at = rest->n > 0 ? memchr(rest->p, c, rest->n) : NULL;
	struct slice head = *rest;

	if (at)
		head.n = (size_t)(at - rest->p);
	*rest = slice_from(*rest, at ? head.n + 1 : head.n);
	return head;
}

struct slice str_word(struct slice *rest)
{
	struct slice word = { 0 };

	while (rest->n > 0 && is_blank(rest->p[0]))
		*rest = slice_from(*rest, 1);
	word.p = rest->p;
	while (word.n < rest->n && !is_blank(word.p[word.n]))
		word.n++;
	*rest = slice_from(*rest, word.n);
	return word;
}

bool str_among(struct slice s, const char *list, char sep)
{
	struct slice rest = slice_of(list);

	while (rest.n > 0)
		if (slice_eq(s, str_split(&rest, sep)))
			return true;
	return false;
}

int str_c(struct slice s, char *mem, size_t size)
{
	if (str_has(s, '\0'))
		return -EINVAL;
	if (s.n >= size)
		return -ENAMETOOLONG;
	if (s.n > 0)
		memcpy(mem, s.p, s.n);
	mem[s.n] = '\0';
	return 0;
}

bool str_unhex(struct slice s, unsigned char *out, size_t n)
{
	for (size_t i = 0; i < n && s.n == 2 * n; i++) {
		int high = ascii_hex(s.p[2 * i]), low = ascii_hex(s.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return s.n == 2 * n;
}

void str_hex(const unsigned char *p, size_t n, char *out)
{
	for (; n > 0; n--, p++) {
		*out++ = "0123456789abcdef"[*p >> 4];
		*out++ = "0123456789abcdef"[*p & 15];
	}
	*out = '\0';
}
