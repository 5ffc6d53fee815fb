#include "base/percent.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int percent_byte(struct slice s)
{
	int high, low;

	if (s.n < 3 || s.p[0] != '%')
		return -1;
	high = hex_digit(s.p[1]);
	low = hex_digit(s.p[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
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
