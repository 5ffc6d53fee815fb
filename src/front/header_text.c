#include "front/header_text.h"

#include "base/base64.h"
#include "base/str.h"

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
	return base64_get(value, out);
}
