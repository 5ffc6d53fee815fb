/*
 * A chunked body means the same in pieces of any size, and the same as to a decoder that looks at
 * whole lines. Any bytes, coded, come out as they were.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "http/chunked.h"

enum { BODY_MAX = 1 << 16 };

struct outcome {
	int r;
	size_t used;
	struct buf *body;
};

static struct outcome feed(struct slice in, size_t piece, struct buf *body)
{
	struct outcome o = { .body = body };
	struct slice now, part;
	struct chunked c;
	size_t given;

	chunked_init(&c);
	while (o.r == 0 && o.used < in.n) {
		now = slice_head(slice_from(in, o.used), piece);
		given = now.n;
		o.r = chunked_take(&c, &now, &part);
		MUST(part.n == 0 || o.r == 0);
		if (o.r < 0)
			break;
		MUST(o.r == 1 || now.n < given);
		buf_slice(body, part);
		o.used += given - now.n;
	}
	return o;
}

/* A line with its CR LF; 1, or 0 when more must come, or -1. */
static int line_take(struct slice *in, struct slice *line)
{
	const char *lf = in->n > 0 ? memchr(in->p, '\n', in->n) : NULL;

	if (!lf)
		return 0;
	*line = str_split(in, '\n');
	if (line->n == 0 || line->p[line->n - 1] != '\r')
		return -1;
	line->n--;
	return str_has(*line, '\r') || str_has(*line, '\0') ? -1 : 1;
}

static int size_of(struct slice line, uint64_t *size)
{
	struct slice rest = line, text = str_split(&rest, ';');
	char number[32], *end;

	while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
		text.n--;
	if (text.n == 0 || text.n > 15 || str_c(text, number, sizeof(number)) < 0)
		return -1;
	if (strspn(number, "0123456789abcdefABCDEF") != text.n)
		return -1;
	*size = strtoull(number, &end, 16);
	return 1;
}

/* 1 and what follows in *in; 0: unfinished, perhaps wrong in what has come of a line; -1: wrong. */
static int by_lines(struct slice *in, struct buf *body)
{
	struct slice line;
	uint64_t size;
	int r;

	for (;;) {
		r = line_take(in, &line);
		if (r <= 0 || size_of(line, &size) < 0)
			return r == 0 ? 0 : -1;
		if (size == 0)
			break;
		buf_slice(body, slice_head(*in, size < in->n ? (size_t)size : in->n));
		if (in->n < size + 2)
			return 0;
		*in = slice_from(*in, (size_t)size);
		if (in->p[0] != '\r' || in->p[1] != '\n')
			return -1;
		*in = slice_from(*in, 2);
	}
	do
		r = line_take(in, &line);
	while (r == 1 && line.n > 0);
	return r;
}

static void decoded(struct slice in)
{
	static struct buf mem[3];
	struct buf *whole = fuzz_buf(&mem[0], BODY_MAX), *bytes = fuzz_buf(&mem[1], BODY_MAX);
	struct buf *lines = fuzz_buf(&mem[2], BODY_MAX);
	struct outcome a = feed(in, in.n, whole), b = feed(in, 1, bytes);
	struct slice rest = in;
	int r = by_lines(&rest, lines);

	MUST(a.r == b.r && slice_eq(buf_all(whole), buf_all(bytes)));
	MUST(a.r < 0 || a.used == b.used);
	MUST(a.r != 1 || (r == 1 && a.used == in.n - rest.n));
	MUST(r != 1 || a.r == 1);
	MUST(r >= 0 || a.r < 0);
	if (a.r >= 0)
		MUST(slice_eq(buf_all(whole), buf_all(lines)));
}

static void coded_and_back(struct slice in, size_t step)
{
	static struct buf mem[2];
	struct buf *coded = fuzz_buf(&mem[0], 16 * BODY_MAX), *body = fuzz_buf(&mem[1], BODY_MAX);
	struct slice rest = in, part;
	struct outcome o;

	while (rest.n > 0) {
		part = slice_head(rest, step);
		buf_printf(coded, "%x%s\r\n", (unsigned)part.n, step % 2 ? "" : " ;x=y");
		buf_slice(coded, part);
		buf_puts(coded, "\r\n");
		rest = slice_from(rest, part.n);
	}
	buf_puts(coded, step % 3 ? "0\r\n\r\n" : "00\r\nA: b\r\n\r\n");
	MUST(!coded->failed);
	o = feed(buf_all(coded), step + 3, body);
	MUST(o.r == 1 && o.used == coded->len);
	MUST(slice_eq(buf_all(body), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };

	if (size == 0 || size > HTTP_HEAD_MAX / 8) /* its extensions stay below their bound */
		return 0;
	decoded(in);
	coded_and_back(in, 1 + data[0] % 40);
	return 0;
}
