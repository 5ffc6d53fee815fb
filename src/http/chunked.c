#include "http/chunked.h"

#include <errno.h>

#include "base/ascii.h"
#include "bounds.h"

enum {
	SIZE,      /* digits of a size */
	BLANK,     /* blanks behind them */
	EXTENSION, /* from ";" up to CR */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER, /* at the start of a trailer line */
	TRAILER_LINE,
	TRAILER_LF,
	LAST_LF,
	DONE,
};

enum { DIGITS_MAX = 15 };

void chunked_init(struct chunked *c)
{
	*c = (struct chunked){ .state = SIZE };
}

static int size_byte(struct chunked *c, char b)
{
	int v = ascii_hex(b);

	if (v >= 0) {
		c->left = c->left << 4 | (uint64_t)v;
		return ++c->digits > DIGITS_MAX ? -EBADMSG : SIZE;
	}
	if (!c->digits)
		return -EBADMSG;
	if (b == '\r')
		return SIZE_LF;
	if (b == ' ' || b == '\t')
		return BLANK;
	return b == ';' ? EXTENSION : -EBADMSG;
}

/* A byte that is dropped: state next after CR, else the same state again. */
static int skip_byte(struct chunked *c, char b, int same, int next)
{
	if (++c->skipped > HTTP_HEAD_MAX || b == '\n' || b == '\0')
		return -EBADMSG;
	return b == '\r' ? next : same;
}

/* Another size behind blanks would be one that others may read. */
static int blank_byte(struct chunked *c, char b)
{
	if (b != ' ' && b != '\t' && b != '\r')
		return b == ';' ? EXTENSION : -EBADMSG;
	return skip_byte(c, b, BLANK, SIZE_LF);
}

static int expect(char b, char want, int next)
{
	return b == want ? next : -EBADMSG;
}

/* One byte outside of chunk data: the next state, or -EBADMSG. */
static int step(struct chunked *c, char b)
{
	switch (c->state) {
	case SIZE:
		return size_byte(c, b);
	case BLANK:
		return blank_byte(c, b);
	case EXTENSION:
		return skip_byte(c, b, EXTENSION, SIZE_LF);
	case SIZE_LF:
		return expect(b, '\n', c->left ? DATA : TRAILER);
	case DATA_CR:
		return expect(b, '\r', DATA_LF);
	case DATA_LF:
		c->digits = 0;
		c->skipped = 0;
		return expect(b, '\n', SIZE);
	case TRAILER:
		return b == '\r' ? LAST_LF : skip_byte(c, b, TRAILER_LINE, TRAILER_LINE);
	case TRAILER_LINE:
		return skip_byte(c, b, TRAILER_LINE, TRAILER_LF);
	case TRAILER_LF:
		return expect(b, '\n', TRAILER);
	case LAST_LF:
		return expect(b, '\n', DONE);
	}
	return -EBADMSG;
}

static struct slice data_take(struct chunked *c, struct slice *in)
{
	struct slice part = slice_head(*in, c->left < in->n ? (size_t)c->left : in->n);

	*in = slice_from(*in, part.n);
	c->left -= part.n;
	if (!c->left)
		c->state = DATA_CR;
	return part;
}

int chunked_take(struct chunked *c, struct slice *in, struct slice *part)
{
	int next;

	*part = (struct slice){ in->p, 0 };
	while (in->n && c->state != DATA && c->state != DONE) {
		next = step(c, in->p[0]);
		if (next < 0)
			return next;
		c->state = next;
		*in = slice_from(*in, 1);
	}
	if (c->state == DONE)
		return 1;
	if (c->state == DATA)
		*part = data_take(c, in);
	return 0;
}
