#include "json/json_write.h"

#include "base/fmt.h"
#include "base/str.h"
#include "json/json_scan.h"

enum {
	PART = 1024, /* bytes escaped between two looks at the room */
	GROWTH = 6,  /* the most that one byte becomes: \u001f */
};

void jw_init(struct jw *w, struct buf *out)
{
	*w = (struct jw){ .out = out };
}

/* 0 for a level too deep to keep account of: opening it has failed the buf. */
static uint64_t level_bit(const struct jw *w)
{
	return w->depth < 64 ? UINT64_C(1) << w->depth : 0;
}

/* What stands before any value: comma and key. */
static void lead_in(struct jw *w, const char *key)
{
	if (w->comma & level_bit(w))
		buf_putc(w->out, ',');
	w->comma |= level_bit(w);
	if (!key)
		return;
	buf_putc(w->out, '"');
	buf_puts(w->out, key);
	buf_put(w->out, "\":", 2);
}

static void open_level(struct jw *w, const char *key, bool array)
{
	lead_in(w, key);
	buf_putc(w->out, array ? '[' : '{');
	w->depth++;
	w->comma &= ~level_bit(w);
	w->arrays &= ~level_bit(w);
	if (array)
		w->arrays |= level_bit(w);
	if (level_bit(w) == 0)
		w->out->failed = true;
}

void jw_object(struct jw *w, const char *key)
{
	open_level(w, key, false);
}

void jw_array(struct jw *w, const char *key)
{
	open_level(w, key, true);
}

void jw_close(struct jw *w)
{
	if (w->depth == 0) {
		w->out->failed = true;
		return;
	}
	buf_putc(w->out, w->arrays & level_bit(w) ? ']' : '}');
	w->depth--;
}

void jw_int(struct jw *w, const char *key, int64_t v)
{
	lead_in(w, key);
	buf_printf(w->out, "%lld", (long long)v);
}

void jw_bool(struct jw *w, const char *key, bool v)
{
	lead_in(w, key);
	buf_puts(w->out, v ? "true" : "false");
}

void jw_null(struct jw *w, const char *key)
{
	lead_in(w, key);
	buf_puts(w->out, "null");
}

void jw_raw(struct jw *w, const char *key, struct slice json)
{
	lead_in(w, key);
	buf_slice(w->out, json);
}

static size_t put_replacement(struct jw *w, char *to)
{
	memcpy(to, "\xef\xbf\xbd", 3);
	w->repaired++;
	return 3;
}

/* What stands behind the backslash in the short escapes. */
static const char letters[128] = {
	['\b'] = 'b',
	['\t'] = 't',
	['\n'] = 'n',
	['\f'] = 'f',
	['\r'] = 'r',
	['"'] = '"',
	['\\'] = '\\',
};

static inline size_t put_escape(char *to, unsigned char b)
{
	to[0] = '\\';
	to[1] = letters[b];
	if (to[1])
		return 2;
	memcpy(to + 1, "u00", 3);
	to[4] = "01"[b >> 4];
	to[5] = "0123456789abcdef"[b & 15];
	return 6;
}

/* Source taken and output given by one step. */
struct moved {
	size_t in, out;
};

/* A sequence that is not ASCII; in is 0 when s ends inside it. */
static struct moved put_sequence(struct jw *w, char *to, struct slice s)
{
	struct moved m = { 0, 0 };
	int n = utf8_quick(s);

	if (n == -2) {
		m.in = utf8_bad(s);
		m.out = put_replacement(w, to);
	} else if (n > 0) {
		m.in = m.out = (size_t)n;
		memcpy(to, s.p, m.in);
	}
	return m;
}

/*
 * Escapes s from its start up to about n bytes into `to`, which has GROWTH * n bytes. A word is
 * stored whole before its first special byte is looked at: output never shrinks, so what was stored
 * too much is written over.
 */
static struct moved escape_part(struct jw *w, char *to, struct slice s, size_t n)
{
	struct moved all = { 0, 0 }, one;
	uint64_t hits;
	size_t k;

	while (all.in < n) {
		if (n - all.in >= 8) {
			hits = json_hits(json_word(s.p + all.in));
			memcpy(to + all.out, s.p + all.in, 8);
			k = hits ? json_first_hit(hits) : 8;
			all.in += k;
			all.out += k;
			if (!hits)
				continue;
		} else if (json_plain(s.p[all.in])) {
			to[all.out++] = s.p[all.in++];
			continue;
		}
		if ((unsigned char)s.p[all.in] < 0x80) {
			all.out += put_escape(to + all.out, (unsigned char)s.p[all.in++]);
			continue;
		}
		one = put_sequence(w, to + all.out, slice_from(s, all.in));
		if (one.in == 0)
			break;
		all.in += one.in;
		all.out += one.out;
	}
	return all;
}

/*
 * Escapes the start of s into the buf, exactly as far as the buf's end allows; gives the source
 * bytes taken.
 */
static size_t put_part(struct jw *w, struct slice s)
{
	size_t n = at_most(s.n, PART), room = (w->out->max - w->out->len) / GROWTH;
	char last[GROWTH];
	struct moved m;

	if (room == 0) {
		m = escape_part(w, last, s, 1);
		buf_put(w->out, last, m.out);
		return m.in;
	}
	if (n > room)
		n = room;
	if (!buf_room(w->out, n * GROWTH))
		return 0;
	m = escape_part(w, w->out->p + w->out->len, s, n);
	w->out->len += m.out;
	return m.in;
}

static void put_text(struct jw *w, struct slice s)
{
	size_t n;

	while (s.n > 0 && !w->out->failed) {
		n = put_part(w, s);
		if (n == 0 && !w->out->failed) {
			memcpy(w->tail, s.p, s.n);
			w->tail_len = (unsigned)s.n;
			return;
		}
		s = slice_from(s, n);
	}
}

/*
 * Goes on with the sequence that the part before left unfinished; gives the bytes taken from part.
 */
static size_t join_tail(struct jw *w, struct slice part)
{
	struct slice tail = { (const char *)w->tail, w->tail_len };
	char mark[3];
	size_t used = 0;
	int n = -1;

	for (; n == -1 && used < part.n; used++) {
		w->tail[tail.n++] = (unsigned char)part.p[used];
		n = utf8_seq(tail);
	}
	w->tail_len = n == -1 ? (unsigned)tail.n : 0;
	if (n > 0)
		buf_slice(w->out, tail);
	if (n != -2)
		return used;
	/* The last byte broke it off and begins something of its own. */
	buf_put(w->out, mark, put_replacement(w, mark));
	return used - 1;
}

static void open_text(struct jw *w, const char *key)
{
	lead_in(w, key);
	buf_putc(w->out, '"');
	w->tail_len = 0;
}

void jw_text_open(struct jw *w, const char *key)
{
	open_text(w, key);
	w->repaired = 0;
}

void jw_text(struct jw *w, struct slice part)
{
	size_t used = w->tail_len > 0 ? join_tail(w, part) : 0;

	put_text(w, slice_from(part, used));
}

struct jw_sink {
	struct fmt_sink sink; /* first: a pointer to it is one to the whole */
	struct jw *w;
};

static void jw_sink_put(struct fmt_sink *to, struct slice part)
{
	jw_text(((struct jw_sink *)to)->w, part);
}

void jw_text_vprintf(struct jw *w, const char *fmt, va_list ap)
{
	struct jw_sink to = { { jw_sink_put }, w };

	fmt_to(&to.sink, fmt, ap);
}

void jw_text_printf(struct jw *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	jw_text_vprintf(w, fmt, ap);
	va_end(ap);
}

void jw_text_close(struct jw *w)
{
	char mark[3];

	if (w->tail_len > 0)
		buf_put(w->out, mark, put_replacement(w, mark));
	w->tail_len = 0;
	buf_putc(w->out, '"');
}

void jw_str(struct jw *w, const char *key, struct slice s)
{
	open_text(w, key);
	jw_text(w, s);
	jw_text_close(w);
}

void jw_vprintf(struct jw *w, const char *key, const char *fmt, va_list ap)
{
	open_text(w, key);
	jw_text_vprintf(w, fmt, ap);
	jw_text_close(w);
}

void jw_puts(struct jw *w, const char *key, const char *s)
{
	jw_str(w, key, slice_of(s));
}
