#include "base/str.h"

/* Bounds of a sequence's second byte and its length, by its first byte (Unicode 3.9, table 3-7). */
static int seq_shape(unsigned char lead, unsigned char *lo, unsigned char *hi)
{
	*lo = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*hi = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/*
 * How many bytes at s (not empty) go well together; *need: how many the first one asks for, 0 for
 * none.
 */
static size_t seq_scan(struct slice s, size_t *need)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned char lo, hi;
	size_t got = 1;

	*need = (size_t)seq_shape(p[0], &lo, &hi);
	while (got < *need && got < s.n && p[got] >= lo && p[got] <= hi) {
		got++;
		lo = 0x80;
		hi = 0xbf;
	}
	return got;
}

int utf8_seq(struct slice s)
{
	size_t need, got;

	if (s.n == 0)
		return 0;
	got = seq_scan(s, &need);
	if (need == 0)
		return -2;
	if (got == need)
		return (int)need;
	return got == s.n ? -1 : -2;
}

size_t utf8_bad(struct slice s)
{
	size_t need;

	return s.n == 0 ? 1 : seq_scan(s, &need);
}

struct slice utf8_whole(struct slice s)
{
	for (size_t k = 1; k <= 3 && k <= s.n; k++) {
		unsigned char c = (unsigned char)s.p[s.n - k];

		if (c < 0x80)
			return s;
		if (c >= 0xC0)
			return utf8_seq(slice_from(s, s.n - k)) == -1 ? slice_head(s, s.n - k) : s;
	}
	return s;
}

size_t utf8_rest(struct slice s)
{
	size_t k = 0;

	while (k < 3 && k < s.n && ((unsigned char)s.p[k] & 0xC0) == 0x80)
		k++;
	return k;
}

void utf8_put(struct buf *b, uint32_t c)
{
	char s[4];
	size_t n = 0;

	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		s[n++] = (char)c;
	} else if (c < 0x800) {
		s[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		s[n++] = (char)(0xe0 | c >> 12);
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		s[n++] = (char)(0xf0 | c >> 18);
		s[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		s[n++] = (char)(0x80 | (c & 0x3f));
	buf_put(b, s, n);
}

/* Length of the well-formed run at s; an unfinished sequence at the end is not part of it. */
static size_t good_run(struct slice s)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t w;
	size_t i = 0;
	int n;

	for (;;) {
		for (; s.n - i >= sizeof(w); i += sizeof(w)) {
			memcpy(&w, s.p + i, sizeof(w));
			if (w & high)
				break;
		}
		n = utf8_quick(slice_from(s, i));
		if (n <= 0)
			return i;
		i += (size_t)n;
	}
}

size_t utf8_repair(struct buf *b, struct slice s)
{
	size_t bad = 0, n;

	while (s.n > 0) {
		n = good_run(s);
		buf_put(b, s.p, n);
		s = slice_from(s, n);
		if (s.n == 0)
			break;
		utf8_put(b, 0xfffd);
		s = slice_from(s, utf8_bad(s));
		bad++;
	}
	return bad;
}
