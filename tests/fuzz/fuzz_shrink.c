/*
 * A reply shrinks to the same text however it is cut into parts; that text is JSON, bounded, and
 * what a slow second way of doing it, with the whole reply at hand, comes to.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "json/json_check.h"
#include "json/json_span.h"
#include "proxy/shrink.h"

enum { TEXT_MAX = 8 * MIB };

static int feed(
	struct shrink *s, struct buf *out, struct slice in, size_t piece, size_t keep, size_t most)
{
	int r = 0;

	buf_reset(out, true);
	shrink_init(s, out, keep, most);
	while (in.n > 0 && r == 0) {
		struct slice part = slice_head(in, piece);

		r = shrink_feed(s, part);
		in = slice_from(in, part.n);
	}
	return r < 0 ? r : shrink_end(s);
}

static int check(struct slice s)
{
	struct json_check c;
	int r;

	json_check_init(&c);
	r = json_check_feed(&c, s);
	return r < 0 ? r : json_check_end(&c);
}

/* --- the slow way: by recursion over a text that is known to be JSON --- */

struct reader {
	struct slice in;
	struct buf *out;
	size_t keep;
	bool skip; /* more was cut than shrink tells of, or a bound was met */
};

struct cut {
	struct slice key;
	uint64_t had;
};

static void blanks(struct reader *r)
{
	while (r->in.n && memchr(" \t\r\n", r->in.p[0], 4))
		r->in = slice_from(r->in, 1);
}

static void take(struct reader *r, size_t n)
{
	buf_put(r->out, r->in.p, n);
	r->in = slice_from(r->in, n);
}

/* What stands between the quotes; the reader is behind them. */
static struct slice string_text(struct reader *r)
{
	size_t i = 1;

	while (r->in.p[i] != '"')
		i += r->in.p[i] == '\\' ? 2 : 1;
	struct slice s = { r->in.p + 1, i - 1 };
	r->in = slice_from(r->in, i + 1);
	return s;
}

static struct json_span sum(struct slice s)
{
	struct json_span a = { 0 }, c;

	for (; s.n; s = slice_from(s, c.written)) {
		c = json_span_first(s);
		MUST(c.written <= s.n);
		a.written += c.written;
		a.text += c.text;
	}
	return a;
}

/* Gives the size of the text when it was cut, else 0. */
static uint64_t string_value(struct reader *r)
{
	struct slice s = string_text(r), tail;
	struct json_span all = sum(s), head = { 0 }, c, rest;

	buf_putc(r->out, '"');
	if (all.text <= r->keep) {
		buf_slice(r->out, s);
		buf_putc(r->out, '"');
		return 0;
	}
	for (;;) {
		c = json_span_first(slice_from(s, head.written));
		if (head.text + c.text > r->keep / 2)
			break;
		head.written += c.written;
		head.text += c.text;
	}
	tail = slice_from(s, head.written);
	for (rest = sum(tail); rest.text > r->keep - r->keep / 2; rest.text -= c.text) {
		c = json_span_first(tail);
		tail = slice_from(tail, c.written);
	}
	buf_put(r->out, s.p, head.written);
	buf_printf(r->out, "\\n[... %llu bytes omitted ...]\\n",
		(unsigned long long)(all.text - head.text - rest.text));
	buf_slice(r->out, tail);
	buf_putc(r->out, '"');
	return all.text;
}

static uint64_t value(struct reader *r);

static void array(struct reader *r)
{
	take(r, 1);
	for (blanks(r); r->in.p[0] != ']'; blanks(r)) {
		if (r->in.p[0] == ',')
			take(r, 1);
		value(r);
	}
	take(r, 1);
}

static void object(struct reader *r)
{
	struct cut cuts[SHRINK_CUTS];
	int n = 0;
	bool own = false;
	uint64_t had;

	take(r, 1);
	for (blanks(r); r->in.p[0] != '}'; blanks(r)) {
		if (r->in.p[0] == ',')
			take(r, 1);
		blanks(r);
		struct slice key = string_text(r);
		buf_putc(r->out, '"');
		buf_slice(r->out, key);
		buf_putc(r->out, '"');
		own = own || slice_is(key, "truncated");
		blanks(r);
		take(r, 1);
		had = value(r);
		if (had && n == SHRINK_CUTS)
			r->skip = true;
		else if (had)
			cuts[n++] = (struct cut){ key, had };
	}
	for (int i = 0; i < n && !own; i++)
		buf_printf(r->out, "%s\"%.*s\":%llu", i ? "," : ",\"truncated\":{",
			SLICE(cuts[i].key), (unsigned long long)cuts[i].had);
	if (n && !own)
		buf_putc(r->out, '}');
	take(r, 1);
}

static uint64_t value(struct reader *r)
{
	blanks(r);
	switch (r->in.p[0]) {
	case '"':
		return string_value(r);
	case '[':
		array(r);
		return 0;
	case '{':
		object(r);
		return 0;
	}
	while (r->in.n && !memchr(",]} \t\r\n", r->in.p[0], 7))
		take(r, 1);
	return 0;
}

/* Cuts of objects around this one count for shrink, too: then the two may differ. */
static int open_cuts(struct slice s)
{
	int n = 0;

	for (size_t i = 0; i + 7 < s.n; i++)
		n += memcmp(s.p + i, "omitted", 7) == 0;
	return n;
}

static void same_as_the_slow_way(struct slice in, struct slice got, size_t keep)
{
	static struct buf mended, want;
	struct reader r = { .keep = keep };

	fuzz_buf(&mended, 4 * MIB);
	r.out = fuzz_buf(&want, TEXT_MAX);
	utf8_repair(&mended, in);
	r.in = buf_all(&mended);
	value(&r);
	MUST(!want.failed);
	if (!r.skip && open_cuts(got) <= SHRINK_CUTS)
		MUST(slice_eq(got, buf_all(&want)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buf out, again, mended;
	struct slice in = { (const char *)data, size };
	struct shrink s, t;
	size_t keep, most, piece;
	int r, c;

	if (size < 2)
		return 0;
	keep = 64 + data[0];
	most = data[1] % 2 ? TEXT_MAX / 2 : 16 * (size_t)data[1];
	in = slice_from(in, 2);
	if (!out.p)
		MUST(buf_reserve(&out, TEXT_MAX) == 0 && buf_reserve(&again, TEXT_MAX) == 0);
	r = feed(&s, &out, in, SIZE_MAX, keep, most);
	fuzz_buf(&mended, 4 * MIB);
	utf8_repair(&mended, in);
	c = check(buf_all(&mended));
	MUST(r == 0 || r == -E2BIG || r == (c == -E2BIG ? -ELOOP : -EBADMSG));
	MUST(r != 0 || c == 0);
	for (piece = 1; piece <= 17; piece += 4) {
		int p = feed(&t, &again, in, piece, keep, most);

		MUST(r == -E2BIG || p == -E2BIG || p == r);
		if (r == 0 && p == 0)
			MUST(slice_eq(buf_all(&out), buf_all(&again)));
	}
	if (r < 0)
		return 0;
	MUST(check(buf_all(&out)) == 0);
	MUST(out.p[0] == s.root);
	if (s.arrays > 0)
		MUST(out.p[s.array_from] == '[' && out.p[s.array_to - 1] == ']');
	same_as_the_slow_way(in, buf_all(&out), keep);
	return 0;
}
