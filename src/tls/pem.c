#include "tls/pem.h"

#include <errno.h>

#include "base/base64.h"
#include "base/str.h"

enum { LINE_BYTES = 48 }; /* 64 digits */

/* The next line of *text, without blanks at its ends. Old Macs' CR alone ends no line. */
static struct slice line_take(struct slice *text)
{
	return str_trim(str_split(text, '\n'));
}

/* Is line "-----word label-----"? */
static bool is_mark(struct slice line, const char *word, const char *label)
{
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "-----%s %s-----", word, label);
	return slice_eq(line, buf_all(&b));
}

/* Digits of base64 that came in lines of any length; a quad may begin in one and end in another. */
struct quads {
	char digit[4];
	size_t n;
	bool padded; /* the last quad was */
};

static bool quads_feed(struct quads *q, struct slice line, struct buf *out)
{
	for (size_t i = 0; i < line.n; i++) {
		if (q->padded)
			return false;
		q->digit[q->n++] = line.p[i];
		if (q->n < sizeof(q->digit))
			continue;
		if (!base64_get((struct slice){ q->digit, sizeof(q->digit) }, out))
			return false;
		q->padded = q->digit[3] == '=';
		q->n = 0;
	}
	return true;
}

/* From the next BEGIN line on; empty when there is none. */
static struct slice block_find(struct slice text, const char *label)
{
	while (text.n > 0) {
		struct slice from = text;

		if (is_mark(line_take(&text), "BEGIN", label))
			return from;
	}
	return text;
}

/* *text stands behind the BEGIN line. */
static int block_decode(struct slice *text, const char *label, struct buf *der)
{
	struct quads q = { .n = 0 };
	size_t from = der->len;

	while (text->n > 0) {
		struct slice line = line_take(text);

		if (is_mark(line, "END", label))
			return q.n == 0 && der->len > from ? 1 : -EBADMSG;
		if (!quads_feed(&q, line, der))
			return der->failed ? -E2BIG : -EBADMSG;
	}
	return -EBADMSG;
}

int pem_next(struct slice *text, const char *label, struct buf *der, struct slice *block)
{
	struct slice from = block_find(*text, label);
	int r;

	*text = from;
	if (from.n == 0)
		return 0;
	line_take(text);
	r = block_decode(text, label, der);
	if (block)
		*block = slice_head(from, from.n - text->n);
	return r;
}

void pem_put(struct buf *b, const char *label, struct slice der)
{
	buf_printf(b, "-----BEGIN %s-----\n", label);
	while (der.n > 0) {
		struct slice line = slice_head(der, LINE_BYTES);

		base64_put(b, (const unsigned char *)line.p, line.n);
		buf_putc(b, '\n');
		der = slice_from(der, line.n);
	}
	buf_printf(b, "-----END %s-----\n", label);
}
