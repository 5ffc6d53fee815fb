#include "base/percent.h"

#include "base/ascii.h"
#include "base/str.h"

int percent_byte(struct slice s)
{
	unsigned char byte;

	if (s.n < 3 || s.p[0] != '%' || !str_unhex(slice_head(slice_from(s, 1), 2), &byte, 1))
		return -1;
	return byte;
}

static bool unreserved(char c)
{
	return ascii_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

void percent_put(struct buf *b, struct slice s)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (unreserved(s.p[i]))
			buf_putc(b, s.p[i]);
		else
			buf_printf(b, "%%%c%c", digits[c >> 4], digits[c & 15]);
	}
}
