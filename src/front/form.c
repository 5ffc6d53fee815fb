#include "front/form.h"

#include <errno.h>

#include "base/percent.h"
#include "base/str.h"

static bool well_formed(struct slice s)
{
	for (int n; s.n > 0; s = slice_from(s, (size_t)n)) {
		n = utf8_seq(s);
		if (n < 0 || s.p[0] == '\0')
			return false;
	}
	return true;
}

static int decode(struct slice raw, struct buf *mem, struct slice *out)
{
	size_t from = mem->len;
	int c;

	while (raw.n > 0) {
		c = raw.p[0] == '+'   ? ' '
		    : raw.p[0] == '%' ? percent_byte(raw)
				      : (unsigned char)raw.p[0];
		if (c < 0)
			return -EBADMSG;
		buf_putc(mem, (char)c);
		raw = slice_from(raw, raw.p[0] == '%' ? 3 : 1);
	}
	if (mem->failed)
		return -ENOMEM;
	*out = buf_since(mem, from);
	return well_formed(*out) ? 0 : -EBADMSG;
}

/* Our names need no escapes, so nobody writes them with any. */
static int take_pair(struct slice pair, const char *const *names, size_t count, struct slice *found,
	struct buf *mem)
{
	struct slice name = str_split(&pair, '=');

	for (size_t i = 0; i < count; i++) {
		if (!slice_is(name, names[i]) || pair.n == 0)
			continue;
		if (found[i].p)
			return -EEXIST;
		return decode(pair, mem, &found[i]);
	}
	return 0;
}

int form_pick(struct slice text, const char *const *names, size_t count, struct slice *found,
	struct buf *mem)
{
	int r = 0;

	memset(found, 0, count * sizeof(*found));
	while (text.n > 0 && r == 0)
		r = take_pair(str_split(&text, '&'), names, count, found, mem);
	return r;
}
