#include "front/lines.h"

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){ .max = max, .blank = true };
}

static bool all_blank(struct slice s)
{
	size_t i = 0;

	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r'))
		i++;
	return i == s.n;
}

enum line_event lines_finish(struct lines *l)
{
	bool blank = l->blank, over = l->len > l->max;

	lines_init(l, l->max);
	return blank ? LINE_BLANK : over ? LINE_LONG : LINE_END;
}

enum line_event lines_take(struct lines *l, struct slice *in, struct slice *part)
{
	const char *lf = memchr(in->p, '\n', in->n);

	*part = slice_head(*in, lf ? (size_t)(lf - in->p) : in->n);
	*in = slice_from(*in, part->n + (lf != NULL));
	l->blank = l->blank && all_blank(*part);
	if (l->len <= l->max) /* beyond it stands still, so that no length wraps around */
		l->len += part->n;
	if (l->len > l->max || l->blank)
		part->n = 0;
	return lf ? lines_finish(l) : LINE_MORE;
}
