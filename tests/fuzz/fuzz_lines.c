/*
 * Whatever the pieces a stream comes in, its lines are those that a look at the whole of it finds;
 * what is collected never grows beyond the most a line may have.
 */
#include "fuzz.h"

#include "bounds.h"
#include "front/lines.h"

static struct buf whole, pieces, line;

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* White space before a message is nobody's: it may be collected or not. */
static void put_line(struct buf *to, struct slice text)
{
	while (text.n > 0 && is_blank(text.p[0]))
		text = slice_from(text, 1);
	buf_putc(to, '[');
	buf_slice(to, text);
	buf_putc(to, ']');
}

/* The plain rule, over all of the input at once. */
static void look(struct slice in, size_t max)
{
	struct slice text;
	const char *lf;
	bool last = false;
	size_t i;

	for (; !last; in = slice_from(in, last ? in.n : text.n + 1)) {
		lf = in.n > 0 ? memchr(in.p, '\n', in.n) : NULL;
		last = lf == NULL;
		text = slice_head(in, lf ? (size_t)(lf - in.p) : in.n);
		for (i = 0; i < text.n && is_blank(text.p[i]); i++)
			;
		if (i == text.n)
			buf_putc(&whole, '-');
		else if (text.n > max)
			buf_putc(&whole, '!');
		else
			put_line(&whole, text);
	}
}

static void note(enum line_event e)
{
	if (e == LINE_END)
		put_line(&pieces, buf_all(&line));
	else if (e != LINE_MORE)
		buf_putc(&pieces, e == LINE_BLANK ? '-' : '!');
	if (e != LINE_MORE)
		buf_cut(&line, 0);
}

/* The sizes of the pieces come from seed; 0: byte by byte, UINT32_MAX: all at once. */
static size_t piece_size(uint32_t *seed, size_t left)
{
	size_t n = 1;

	if (*seed == UINT32_MAX)
		return left;
	if (*seed != 0) {
		*seed = *seed * 1103515245 + 12345;
		n = 1 + (*seed >> 16) % 9;
		*seed |= 1;
	}
	return n < left ? n : left;
}

static void feed(struct slice in, size_t max, uint32_t seed)
{
	struct slice piece, part;
	struct lines l;
	enum line_event e;

	lines_init(&l, max);
	while (in.n > 0) {
		piece = slice_head(in, piece_size(&seed, in.n));
		in = slice_from(in, piece.n);
		while (piece.n > 0) {
			e = lines_take(&l, &piece, &part);
			buf_slice(&line, part);
			MUST(line.len <= max);
			MUST(e != LINE_MORE || piece.n == 0);
			note(e);
		}
	}
	note(lines_finish(&l));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t seeds[] = { 0, UINT32_MAX, size > 1 ? data[1] | 1u : 1 };
	struct slice in = { (const char *)data, size };
	size_t max = size > 0 ? data[0] : 0;

	in = slice_from(in, size < 2 ? size : 2);
	fuzz_buf(&whole, 4 * MIB);
	look(in, max);
	for (size_t i = 0; i < 3; i++) {
		fuzz_buf(&pieces, 4 * MIB);
		fuzz_buf(&line, MIB);
		feed(in, max, seeds[i]);
		MUST(slice_eq(buf_all(&pieces), buf_all(&whole)));
	}
	return 0;
}
