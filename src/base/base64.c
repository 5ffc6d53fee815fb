#include "base/base64.h"

#include <stdint.h>

/* The first digits of 24 bits. Section 4 has 62 and 63 as "+/", section 5 as "-_". */
static void put_digits(struct buf *b, uint32_t v, size_t digits, const char *last)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t i = 0; i < digits; i++) {
		uint32_t digit = v >> (18 - 6 * i) & 63;

		buf_putc(b, digit < 62 ? alphabet[digit] : last[digit - 62]);
	}
}

/* Without padding. */
static void put_bytes(struct buf *b, const unsigned char *p, size_t n, const char *last)
{
	uint32_t v;

	for (; n >= 3; p += 3, n -= 3)
		put_digits(b, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2], 4, last);
	if (n == 0)
		return;
	v = (uint32_t)p[0] << 16;
	if (n == 2)
		v |= (uint32_t)p[1] << 8;
	put_digits(b, v, n + 1, last);
}

void base64url_put(struct buf *b, const unsigned char *p, size_t n)
{
	put_bytes(b, p, n, "-_");
}

void base64_put(struct buf *b, const unsigned char *p, size_t n)
{
	put_bytes(b, p, n, "+/");
	for (; n % 3; n++)
		buf_putc(b, '=');
}

static int digit(char c, const char *last)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last[0] ? 62 : c == last[1] ? 63 : -1;
}

/* 2, 3 or 4 digits make 1, 2 or 3 bytes. */
static bool get_group(struct slice digits, const char *last, struct buf *out)
{
	uint32_t v = 0;

	for (size_t i = 0; i < 4; i++) {
		int d = i < digits.n ? digit(digits.p[i], last) : 0;

		if (d < 0)
			return false;
		v = v << 6 | (uint32_t)d;
	}
	if (digits.n < 2 || v & ((UINT32_C(1) << (8 * (4 - digits.n))) - 1))
		return false;
	for (size_t i = 0; i + 1 < digits.n; i++)
		buf_putc(out, (char)(v >> (16 - 8 * i)));
	return true;
}

static bool get_digits(struct slice text, const char *last, struct buf *out)
{
	for (; text.n > 0; text = slice_from(text, at_most(text.n, 4)))
		if (!get_group(slice_head(text, 4), last, out))
			return false;
	return !out->failed;
}

bool base64url_get(struct slice text, struct buf *out)
{
	return get_digits(text, "-_", out);
}

bool base64_get(struct slice text, struct buf *out)
{
	size_t pad = 0;

	if (text.n % 4)
		return false;
	while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
		pad++;
	return get_digits(slice_head(text, text.n - pad), "+/", out);
}
