#include "front/header_text.h"

#include <stdint.h>

#include "base/str.h"

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four digits of RFC 4648 section 4, of which the last two may be padding; bits beyond the last
 * byte must be zero. */
static bool quad(const char *p, bool last, struct buf *out)
{
	int pad = p[3] != '=' ? 0 : p[2] != '=' ? 1 : 2;
	uint32_t v = 0;

	if (pad && !last)
		return false;
	for (int i = 0; i < 4; i++) {
		int d = i < 4 - pad ? digit(p[i]) : 0;

		if (d < 0)
			return false;
		v = v << 6 | (uint32_t)d;
	}
	if (v & ((UINT32_C(1) << (8 * pad)) - 1))
		return false;
	for (int i = 0; i < 3 - pad; i++)
		buf_putc(out, (char)(v >> (16 - 8 * i)));
	return true;
}

bool header_text(struct slice value, struct buf *out)
{
	static const char begin[] = "=?base64?";
	size_t n = sizeof(begin) - 1;

	if (!str_starts(value, begin) || value.n < n + 2 ||
		memcmp(value.p + value.n - 2, "?=", 2) != 0) {
		buf_slice(out, value);
		return !out->failed;
	}
	value = (struct slice){ value.p + n, value.n - n - 2 };
	if (value.n % 4)
		return false;
	for (size_t i = 0; i < value.n; i += 4)
		if (!quad(value.p + i, i + 4 == value.n, out))
			return false;
	return !out->failed;
}
