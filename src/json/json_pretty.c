#include "json/json_pretty.h"

#include <stdint.h>

#include "base/str.h"
#include "json/json_scan.h"

static void put_line(struct buf *b, int depth)
{
	buf_putc(b, '\n');
	for (int i = 0; i < depth; i++)
		buf_puts(b, "  ");
}

/* --- strings --- */

static uint32_t code_point(const unsigned char *p, int n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	for (int i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3fu);
	return c;
}

/* Beyond the first plane as two surrogates (RFC 8259 section 7). */
static void put_escaped(struct buf *b, uint32_t c)
{
	if (c >= 0x10000) {
		c -= 0x10000;
		buf_printf(b, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
	} else {
		buf_printf(b, "\\u%04x", c);
	}
}

/* One character that does not stand for itself; gives how many bytes of s it takes. */
static size_t put_special(struct buf *b, struct slice s)
{
	int n;

	if (s.p[0] == '\\') {
		if (s.p[1] == '/')
			buf_putc(b, '/');
		else
			buf_put(b, s.p, 2);
		return 2;
	}
	n = utf8_seq(s);
	put_escaped(b, code_point((const unsigned char *)s.p, n));
	return (size_t)n;
}

/* From its opening quote; gives what follows it. */
static struct slice put_string(struct buf *b, struct slice s)
{
	size_t n;

	buf_putc(b, '"');
	s = slice_from(s, 1);
	while (s.p[0] != '"') {
		n = json_plain_run(s);
		buf_put(b, s.p, n);
		if (n == 0)
			n = put_special(b, s);
		s = slice_from(s, n);
	}
	buf_putc(b, '"');
	return slice_from(s, 1);
}

/* --- structure --- */

static struct slice skip_blanks(struct slice s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\n' || s.p[0] == '\r'))
		s = slice_from(s, 1);
	return s;
}

/* An empty object or array stays in one piece. */
static struct slice put_open(struct buf *b, struct slice s, int *depth)
{
	char open = s.p[0];

	buf_putc(b, open);
	s = skip_blanks(slice_from(s, 1));
	if (s.p[0] == open + 2) { /* '{' and '}', '[' and ']' */
		buf_putc(b, s.p[0]);
		return slice_from(s, 1);
	}
	put_line(b, ++*depth);
	return s;
}

void json_pretty(struct buf *b, struct slice json)
{
	struct slice s = skip_blanks(json);
	int depth = 0;

	while (s.n > 0) {
		char c = s.p[0];

		if (c == '"') {
			s = skip_blanks(put_string(b, s));
			continue;
		}
		if (c == '{' || c == '[') {
			s = skip_blanks(put_open(b, s, &depth));
			continue;
		}
		if (c == '}' || c == ']')
			put_line(b, --depth);
		buf_putc(b, c);
		if (c == ',')
			put_line(b, depth);
		if (c == ':')
			buf_putc(b, ' ');
		s = skip_blanks(slice_from(s, 1));
	}
}
