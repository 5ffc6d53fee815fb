#include "loop/capture.h"

#include "base/str.h"

/*
 * The buf first fills from its start. Once it is full (b.len == keep) its second part, from
 * head_size on, is a ring: `at` is then where the oldest byte of the tail lies and where the next
 * one goes.
 */

enum {
	LOOK_BACK = 4096, /* of capture_last_line, which may be asked four times a second */
};

static size_t head_size(const struct capture *c)
{
	return c->keep / 2;
}

int capture_open(struct capture *c, size_t keep)
{
	*c = (struct capture){ .keep = keep };
	return buf_reserve(&c->b, keep);
}

void capture_close(struct capture *c)
{
	buf_release(&c->b);
}

/*
 * How many of n bytes still go straight to the end. Out of memory: what is open has to do, the ring
 * begins early.
 */
static size_t grow(struct capture *c, size_t n)
{
	n = at_most(n, c->keep - c->b.len);
	if (!buf_room(&c->b, n)) {
		buf_cut(&c->b, c->b.len);
		c->keep = c->b.cap;
		n = at_most(n, c->keep - c->b.len);
	}
	return n;
}

static void ring_put(struct capture *c, struct slice s)
{
	size_t head = head_size(c), ring = c->keep - head, first;

	if (c->at < head)
		c->at = head;
	if (s.n >= ring) {
		s = slice_from(s, s.n - ring);
		c->at = head;
	}
	first = at_most(s.n, c->keep - c->at);
	memcpy(c->b.p + c->at, s.p, first);
	memcpy(c->b.p + head, s.p + first, s.n - first);
	c->at += s.n;
	if (c->at >= c->keep)
		c->at -= ring;
}

void capture_put(struct capture *c, struct slice s)
{
	size_t n = grow(c, s.n);

	c->total += s.n;
	buf_put(&c->b, s.p, n);
	if (n < s.n && c->keep > 0)
		ring_put(c, slice_from(s, n));
}

/* Drops the end of a UTF-8 sequence whose beginning is gone. */
static size_t trim_start(struct slice *s, size_t most)
{
	size_t k = at_most(utf8_rest(*s), most);

	*s = slice_from(*s, k);
	return k;
}

uint64_t capture_parts(const struct capture *c, struct slice parts[3])
{
	size_t head = head_size(c), k;

	parts[0] = buf_all(&c->b);
	parts[1] = parts[2] = (struct slice){ "", 0 };
	if (c->total == c->b.len)
		return 0;
	if (c->keep > 0) {
		parts[0].n = head;
		parts[1] = (struct slice){ c->b.p + c->at, c->keep - c->at };
		parts[2] = (struct slice){ c->b.p + head, c->at - head };
		parts[0] = utf8_whole(parts[0]);
		k = trim_start(&parts[1], 3);
		if (parts[1].n == 0)
			trim_start(&parts[2], 3 - k);
	}
	return c->total - parts[0].n - parts[1].n - parts[2].n;
}

static void reverse(char *p, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		char c = p[i];

		p[i] = p[n - 1 - i];
		p[n - 1 - i] = c;
	}
}

/* Turns the ring until its oldest byte lies first. */
static void straighten(struct capture *c)
{
	size_t head = head_size(c);

	if (c->total == c->b.len || c->at <= head || c->at >= c->keep)
		return;
	reverse(c->b.p + head, c->at - head);
	reverse(c->b.p + c->at, c->keep - c->at);
	reverse(c->b.p + head, c->keep - head);
	c->at = head;
}

uint64_t capture_joined(struct capture *c, struct slice parts[2])
{
	struct slice three[3];
	uint64_t omitted;

	straighten(c);
	omitted = capture_parts(c, three);
	parts[0] = three[0];
	parts[1] = three[1];
	return omitted;
}

/* The byte that came `back` bytes before the end, from 1 on. */
static char byte_back(const struct capture *c, size_t back)
{
	size_t head = head_size(c);

	if (c->total == c->b.len)
		return c->b.p[c->b.len - back];
	return c->b.p[c->at - head >= back ? c->at - back : c->keep - (back - (c->at - head))];
}

static bool line_end(char c)
{
	return c == '\n' || c == '\r';
}

static bool blank(char c)
{
	return line_end(c) || c == ' ' || c == '\t';
}

/* Where the control sequence at p ends: ESC "[" up to its final byte, or ESC and one more. */
static size_t escape_length(const char *p, size_t n)
{
	size_t i = 1;

	if (n > 1 && p[1] == '[')
		for (i = 2; i < n && (p[i] < '@' || p[i] > '~'); i++)
			;
	return at_most(i + 1, n);
}

/* Of n bytes at p what a terminal would show, moved together there. */
static struct slice shown(char *p, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n;) {
		if (p[i] == '\x1b') {
			i += escape_length(p + i, n - i);
			continue;
		}
		if (p[i] == '\t' || (unsigned char)p[i] >= ' ')
			p[to++] = p[i] == '\x7f' ? ' ' : p[i];
		i++;
	}
	return (struct slice){ p, to };
}

struct slice capture_last_line(struct capture *c)
{
	size_t kept = c->total == c->b.len ? c->b.len : c->keep - head_size(c);
	size_t last = at_most(kept, LOOK_BACK), end = 1, n = 0;
	struct slice line;

	while (end <= last && blank(byte_back(c, end)))
		end++;
	while (end + n <= last && n < sizeof(c->line) && !line_end(byte_back(c, end + n))) {
		c->line[sizeof(c->line) - 1 - n] = byte_back(c, end + n);
		n++;
	}
	c->line_cut = end + n <= last ? !line_end(byte_back(c, end + n)) : last < c->total;
	line = (struct slice){ c->line + sizeof(c->line) - n, n };
	trim_start(&line, 3);
	line = utf8_whole(line);
	return str_trim(shown(c->line + (line.p - c->line), line.n));
}
