#include "base/base64.h"

#include <stdint.h>

/* The first digits of 24 bits. */
static void put_digits(struct buf *b, uint32_t v, size_t digits)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < digits; i++)
		buf_putc(b, alphabet[v >> (18 - 6 * i) & 63]);
}

void base64url_put(struct buf *b, const unsigned char *p, size_t n)
{
	uint32_t v;

	for (; n >= 3; p += 3, n -= 3)
		put_digits(b, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2], 4);
	if (n == 0)
		return;
	v = (uint32_t)p[0] << 16;
	if (n == 2)
		v |= (uint32_t)p[1] << 8;
	put_digits(b, v, n + 1);
}
