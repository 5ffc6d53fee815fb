#include "proxy/shrink.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "json/json_scan.h"
#include "json/json_span.h"
#include "loop/loop.h"

/* Parts of a reply are at most so long, and U+FFFD is three bytes for one. */
enum { SLACK = 4 * READ_CHUNK };

/* --- the string being read ---
 *
 * It stands at the end of out. So many bytes of it as `keep` bytes of text can be written in are
 * simply kept. Then its first half is settled, and of what follows only so much stays as the last
 * half can need.
 */

size_t shrink_room(size_t keep)
{
	return 2 * JSON_ESCAPE_MAX * keep + SLACK;
}

static struct slice text_from(const struct shrink *s, size_t from)
{
	return buf_since(s->out, from);
}

static void settle_head(struct shrink *s)
{
	struct json_span head = json_span_upto(text_from(s, s->from), s->keep / 2);

	s->tail = s->from + head.written;
	s->had = head.text;
}

/* Takes the first n bytes out of the last half. */
static void tail_drop(struct shrink *s, struct json_span gone)
{
	char *p = s->out->p + s->tail;

	memmove(p, p + gone.written, s->out->len - s->tail - gone.written);
	buf_cut(s->out, s->out->len - gone.written);
	s->had += gone.text;
	s->omitted += gone.text;
}

/* Makes room. All but the very end of the text is whole characters. */
static void string_squeeze(struct shrink *s)
{
	size_t half = JSON_ESCAPE_MAX * (s->keep - s->keep / 2);

	if (!s->tail)
		settle_head(s);
	tail_drop(s, json_span_leaving(text_from(s, s->tail), half + 2 * JSON_ESCAPE_MAX));
}

static void string_add(struct shrink *s, struct slice in)
{
	size_t at, most, n;

	while (in.n > 0 && !s->out->failed) {
		at = s->tail ? s->tail : s->from;
		most = JSON_ESCAPE_MAX * s->keep + 4 * JSON_ESCAPE_MAX;
		if (s->out->len - at >= most) {
			string_squeeze(s);
			continue;
		}
		n = at_most(in.n, most - (s->out->len - at));
		buf_put(s->out, in.p, n);
		in = slice_from(in, n);
	}
}

static void insert_note(struct shrink *s)
{
	char mem[64];
	struct buf b;
	size_t n = s->out->len - s->tail;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "\\n[... %llu bytes omitted ...]\\n", (unsigned long long)s->omitted);
	if (!buf_room(s->out, b.len))
		return;
	memmove(s->out->p + s->tail + b.len, s->out->p + s->tail, n);
	memcpy(s->out->p + s->tail, mem, b.len);
	s->out->len += b.len;
}

static bool in_object(const struct shrink *s)
{
	return s->check.depth > 0 && (s->check.objects >> (s->check.depth - 1) & 1);
}

static void note_cut(struct shrink *s)
{
	if (in_object(s) && s->cut_count < SHRINK_CUTS)
		s->cuts[s->cut_count++] = (struct shrink_cut){
			.depth = s->check.depth, .key = s->key, .key_end = s->key_end, .had = s->had
		};
}

/* All of the string is there. */
static void string_cut(struct shrink *s)
{
	struct slice all = text_from(s, s->from);
	size_t half = s->keep - s->keep / 2;
	struct json_span tail;
	uint64_t before;

	if (!s->tail && json_span_upto(all, s->keep).written == all.n)
		return;
	if (!s->tail)
		settle_head(s);
	before = s->had;
	tail = json_span_upto(text_from(s, s->tail), UINT64_MAX / 2);
	if (tail.text > half)
		tail_drop(s, json_span_atleast(text_from(s, s->tail), tail.text - half));
	s->had = before + tail.text;
	insert_note(s);
	note_cut(s);
}

static void string_end(struct shrink *s)
{
	s->value = false;
	if (s->out->failed)
		return;
	if (s->tail || s->out->len - s->from > s->keep)
		string_cut(s);
}

/* --- what json_check tells --- */

/* Bit of the object whose members are being read. */
static uint64_t level_bit(const struct shrink *s)
{
	return UINT64_C(1) << (s->check.depth - 1);
}

static void quote(struct shrink *s)
{
	buf_putc(s->out, '"');
	s->value = !s->check.key;
	s->from = s->out->len;
	s->tail = 0;
	s->had = s->omitted = 0;
}

static void unquote(struct shrink *s)
{
	if (s->value) {
		string_end(s);
	} else {
		s->key = s->from;
		s->key_end = s->out->len;
		if (slice_is(text_from(s, s->key), "truncated"))
			s->own |= level_bit(s);
	}
	buf_putc(s->out, '"');
}

static void opened(struct shrink *s, struct slice bracket)
{
	if (bracket.p[0] == '{')
		s->own &= ~level_bit(s);
	if (s->check.depth == 2 && bracket.p[0] == '[' && (s->check.objects & 1)) {
		s->arrays++;
		s->array_from = s->out->len;
	}
	buf_slice(s->out, bracket);
}

static void put_cuts(struct shrink *s, int first)
{
	buf_puts(s->out, ",\"truncated\":{");
	for (int i = first; i < s->cut_count; i++) {
		const struct shrink_cut *c = &s->cuts[i];

		if (i > first)
			buf_putc(s->out, ',');
		buf_putc(s->out, '"');
		buf_put(s->out, s->out->p + c->key, c->key_end - c->key);
		buf_printf(s->out, "\":%llu", (unsigned long long)c->had);
	}
	buf_putc(s->out, '}');
}

static void closed(struct shrink *s, struct slice bracket)
{
	int depth = s->check.depth + 1, first = s->cut_count;

	while (first > 0 && s->cuts[first - 1].depth == depth)
		first--;
	if (first < s->cut_count && !(s->own >> (depth - 1) & 1))
		put_cuts(s, first);
	s->cut_count = first;
	buf_slice(s->out, bracket);
	if (depth == 2 && bracket.p[0] == ']' && (s->check.objects & 1))
		s->array_to = s->out->len;
}

static void told(struct json_check *c, enum json_event e, struct slice bytes)
{
	struct shrink *s = container_of(c, struct shrink, check);

	switch (e) {
	case JSON_QUOTE:
		quote(s);
		break;
	case JSON_UNQUOTE:
		unquote(s);
		break;
	case JSON_TEXT:
		if (s->value)
			string_add(s, bytes);
		else
			buf_slice(s->out, bytes);
		break;
	case JSON_OPEN:
		opened(s, bytes);
		break;
	case JSON_CLOSE:
		closed(s, bytes);
		break;
	case JSON_MARK:
		buf_slice(s->out, bytes);
		break;
	}
	if (!s->root)
		s->root = bytes.p[0];
}

/* --- bytes in --- */

void shrink_init(struct shrink *s, struct buf *out, size_t keep, size_t most)
{
	*s = (struct shrink){ .out = out, .keep = keep, .most = most };
	json_check_init(&s->check);
	s->check.told = told;
}

static int pass(struct shrink *s, struct slice in)
{
	int r = json_check_feed(&s->check, in);

	if (r < 0)
		return r == -E2BIG ? -ELOOP : r;
	if ((s->value ? s->from : s->out->len) > s->most)
		return -E2BIG;
	return s->out->failed ? -ENOMEM : 0;
}

static int pass_bad(struct shrink *s)
{
	return pass(s, LIT("\xef\xbf\xbd"));
}

/* The well-formed start of s. */
static size_t good_run(struct slice s)
{
	size_t i = 0;
	int n;

	while (i < s.n) {
		i += json_plain_run(slice_from(s, i));
		if (i == s.n)
			break;
		n = utf8_quick(slice_from(s, i));
		if (n < 0)
			break;
		i += (size_t)n;
	}
	return i;
}

/* Completes the sequence that the last piece has begun; gives what it took of in. */
static size_t carry_on(struct shrink *s, struct slice in, int *r)
{
	size_t n = at_most(in.n, sizeof(s->carry) - s->carried), had = s->carried;
	struct slice all = { (const char *)s->carry, had + n };
	int len;

	memcpy(s->carry + had, in.p, n);
	len = utf8_seq(all);
	if (len == -1) {
		s->carried += (unsigned)n;
		return n;
	}
	s->carried = 0;
	if (len < 0) {
		*r = pass_bad(s);
		return utf8_bad(all) -
		       had; /* what was carried is a good beginning: all of it is in */
	}
	*r = pass(s, slice_head(all, (size_t)len));
	return (size_t)len - had;
}

static int feed_rest(struct shrink *s, struct slice in)
{
	size_t n;
	int r = 0;

	while (in.n > 0 && r == 0) {
		n = good_run(in);
		r = n > 0 ? pass(s, slice_head(in, n)) : 0;
		in = slice_from(in, n);
		if (in.n == 0 || r < 0)
			break;
		if (utf8_seq(in) == -1) {
			memcpy(s->carry, in.p, in.n);
			s->carried = (unsigned)in.n;
			break;
		}
		n = utf8_bad(in);
		r = pass_bad(s);
		in = slice_from(in, n);
	}
	return r;
}

int shrink_feed(struct shrink *s, struct slice in)
{
	int r = 0;
	size_t n;

	if (s->carried && in.n > 0) {
		n = carry_on(s, in, &r);
		in = slice_from(in, n);
	}
	return r == 0 ? feed_rest(s, in) : r;
}

int shrink_end(struct shrink *s)
{
	int r = s->carried ? pass_bad(s) : 0;

	s->carried = 0;
	if (r == 0)
		r = json_check_end(&s->check);
	return r == -E2BIG ? -ELOOP : r;
}
