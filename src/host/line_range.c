#include "host/line_range.h"

enum { UTF8_MORE_MAX = 3 }; /* bytes of a sequence behind its first */

void range_start(struct line_range *r, int64_t from, int64_t count, size_t room)
{
	*r = (struct line_range){ .from = from, .room = room, .line = 1 };
	r->end = count > INT64_MAX - from ? INT64_MAX : from + count;
}

/* Moves over s until line `stop` begins; how many bytes that took. */
static size_t pass(struct line_range *r, struct slice s, int64_t stop)
{
	const char *end;
	size_t at = 0;

	while (at < s.n && r->line < stop) {
		end = memchr(s.p + at, '\n', s.n - at);
		r->open = !end;
		if (!end)
			return s.n;
		r->line++;
		at = (size_t)(end - s.p) + 1;
	}
	return at;
}

static bool is_more(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What of s there is room for, to the end of a UTF-8 sequence. */
static size_t fitting(const struct line_range *r, struct slice s)
{
	size_t n = r->room, more = 0;

	if (n >= s.n)
		return s.n;
	while (n + more < s.n && r->over + more < UTF8_MORE_MAX && is_more(s.p[n + more]))
		more++;
	return n + more;
}

static void note_cut(struct line_range *r)
{
	r->cut = true;
	r->resume = r->line > r->from ? r->line : r->from + 1;
}

/* Moves over what is to be shown. */
static size_t show(struct line_range *r, struct slice s)
{
	size_t fits = fitting(r, s), n = pass(r, slice_head(s, fits), r->end);

	r->over += n > r->room ? (unsigned)(n - r->room) : 0;
	r->room -= at_most(n, r->room);
	if (n > 0) {
		if (r->first == 0)
			r->first = r->from;
		r->last = r->open ? r->line : r->line - 1;
	}
	if (n == fits && fits < s.n && r->line < r->end)
		note_cut(r);
	return n;
}

struct slice range_feed(struct line_range *r, struct slice part)
{
	size_t at = pass(r, part, r->from);
	struct slice shown = slice_from(part, at);

	shown.n = range_done(r) || shown.n == 0 ? 0 : show(r, shown);
	pass(r, slice_from(part, at + shown.n), INT64_MAX);
	return shown;
}

bool range_done(const struct line_range *r)
{
	return r->cut || r->line >= r->end;
}

int64_t range_lines(const struct line_range *r)
{
	return r->line - 1 + r->open;
}
