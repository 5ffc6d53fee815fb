/*
 * A reply means the same in pieces of any size, and the same as to a reader that looks at whole
 * lines and knows only the plain forms. What is told stands inside of the head and holds no
 * controls; a body put into any framing comes out as it was.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "http/field.h"
#include "http/reply.h"

enum { BODY_MAX = 1 << 17 };

struct outcome {
	int r;
	size_t used;
	struct http_reply reply;
	struct buf *head, *body;
};

static void feed(struct outcome *o, struct slice in, size_t piece)
{
	struct slice now, part;
	size_t given;

	o->r = 0;
	o->used = 0;
	http_reply_init(&o->reply, o->head);
	while (o->r == 0 && o->used < in.n) {
		now = slice_head(slice_from(in, o->used), piece);
		given = now.n;
		o->r = http_reply_take(&o->reply, &now, &part);
		if (o->r < 0)
			break;
		MUST(o->r == 1 || now.n < given);
		buf_slice(o->body, part);
		o->used += given - now.n;
	}
	MUST(o->r >= 0 ? !o->reply.wrong : o->reply.wrong && o->r != -ENOMEM);
}

/* --- what must be true of any outcome --- */

static void clean(struct slice s, struct slice text)
{
	if (!s.p)
		return;
	MUST(s.p >= text.p && s.p + s.n <= text.p + text.n);
	for (size_t i = 0; i < s.n; i++)
		MUST(((unsigned char)s.p[i] >= ' ' || s.p[i] == '\t') && s.p[i] != 0x7f);
}

/* Lines that name a field, in any case. */
static int count_lines(struct slice text, const char *name)
{
	int n = 0;

	while (text.n > 0) {
		struct slice line = str_split(&text, '\n'), before = str_split(&line, ':');

		n += http_same(str_trim(before), name);
	}
	return n;
}

/* Every Content-Length says the same. */
static void lengths(struct slice head, int64_t length)
{
	while (head.n > 0) {
		struct slice line = str_split(&head, '\n'), name = str_split(&line, ':');
		int64_t n;

		if (http_same(str_trim(name), "content-length"))
			MUST(str_int(str_trim(line), &n) == 0 && n == length);
	}
}

static void told(const struct outcome *o)
{
	const struct http_reply *r = &o->reply;
	struct slice head = buf_all(o->head);

	if (!r->status || o->r < 0)
		return;
	MUST(r->status >= 200 && r->status <= 999);
	MUST(r->got == o->body->len);
	clean(r->reason, head);
	clean(r->type, head);
	clean(r->retry_after, head);
	clean(r->location, head);
	MUST((r->length >= 0) == (count_lines(head, "content-length") > 0));
	MUST(count_lines(head, "transfer-encoding") <= (r->length < 0 && r->minor > 0));
	lengths(head, r->length);
	if (r->length >= 0)
		MUST((int64_t)r->got <= r->length && r->got <= REPLY_BODY_MAX);
	/* The length of a 304 is that of what did not come (RFC 9110 section 8.6). */
	if (r->status != 204 && r->status != 304)
		MUST(r->length <= REPLY_BODY_MAX);
}

static bool same_text(struct slice a, struct slice b)
{
	return !a.p == !b.p && slice_eq(a, b);
}

static void same(const struct outcome *a, const struct outcome *b)
{
	MUST(a->r == b->r && a->reply.status == b->reply.status);
	MUST(a->reply.keep_alive == b->reply.keep_alive && a->reply.length == b->reply.length);
	MUST(a->r >= 0 || strcmp(a->reply.wrong, b->reply.wrong) == 0);
	if (a->r < 0)
		return;
	MUST(a->used == b->used && slice_eq(buf_all(a->body), buf_all(b->body)));
	MUST(same_text(a->reply.reason, b->reply.reason));
	MUST(same_text(a->reply.type, b->reply.type));
	MUST(same_text(a->reply.location, b->reply.location));
	MUST(same_text(a->reply.retry_after, b->reply.retry_after));
}

/* --- the plain reader: the final head's status and where its body begins --- */

static struct slice field_of(struct slice head, const char *name)
{
	struct slice line;

	while (head.n > 0) {
		line = str_split(&head, '\n');
		if (http_same(str_trim(str_split(&line, ':')), name))
			return str_trim(line);
	}
	return (struct slice){ 0 };
}

/* Where the first line without text ends, 0: nowhere. */
static size_t empty_line(struct slice in)
{
	struct slice rest = in, line;

	while (rest.n && memchr(rest.p, '\n', rest.n)) {
		line = str_split(&rest, '\n');
		if (line.n == 0 || slice_is(line, "\r"))
			return in.n - rest.n;
	}
	return 0;
}

static void as_the_plain_reader(const struct outcome *o, struct slice in)
{
	struct slice rest = in, head;
	size_t end;

	if (o->r < 0)
		return;
	for (;;) {
		end = empty_line(rest);
		if (!end) {
			MUST(o->reply.status == 0 && o->r == 0);
			return;
		}
		head = slice_head(rest, end);
		rest = slice_from(rest, end);
		if (head.p[9] != '1')
			break;
	}
	MUST(o->reply.status == atoi((char[4]){ head.p[9], head.p[10], head.p[11] }));
	MUST(slice_eq(head, buf_all(o->head)));
	MUST(same_text(o->reply.type, field_of(head, "content-type")));
	if (o->reply.status == 204 || o->reply.status == 304)
		MUST(o->r == 1 && o->body->len == 0 && o->used == in.n - rest.n);
	else if (o->reply.length >= 0)
		MUST(slice_eq(buf_all(o->body), slice_head(rest, (size_t)o->reply.length)));
	else if (!count_lines(head, "transfer-encoding"))
		MUST(o->r == 0 && slice_eq(buf_all(o->body), rest));
}

static void taken(struct slice in)
{
	static struct buf mem[6];
	struct outcome o[3];
	const size_t pieces[3] = { in.n, 1, 7 };

	for (int i = 0; i < 3; i++) {
		o[i].head = fuzz_buf(&mem[2 * i], HTTP_HEAD_MAX);
		o[i].body = fuzz_buf(&mem[2 * i + 1], BODY_MAX);
		feed(&o[i], in, pieces[i]);
		told(&o[i]);
		same(&o[i], &o[0]);
	}
	as_the_plain_reader(&o[0], in);
	MUST(http_reply_end(&o[0].reply, false) == (o[0].r == 1 ? 1 : -EPIPE));
	if (o[0].r == 0 && http_reply_end(&o[1].reply, true) == 1)
		MUST(o[0].reply.status && o[0].reply.length < 0);
}

/* --- any bytes as a body --- */

static void put_framed(struct buf *b, struct slice body, int framing, size_t step)
{
	buf_puts(b, framing & 4 ? "HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\n" : "");
	buf_puts(b, "HTTP/1.1 200 OK\r\n");
	framing &= 3;
	if (framing == 1)
		buf_printf(b, "Content-Length: %zu\r\n", body.n);
	buf_puts(b, framing == 2 ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
	while (framing == 2 && body.n) {
		struct slice part = slice_head(body, step);

		buf_printf(b, "%x\r\n", (unsigned)part.n);
		buf_slice(b, part);
		buf_puts(b, "\r\n");
		body = slice_from(body, part.n);
	}
	buf_slice(b, body);
	buf_puts(b, framing == 2 ? "0\r\n\r\n" : "");
}

static void framed_and_back(struct slice body, int framing, size_t step)
{
	static struct buf mem[3];
	struct buf *text = fuzz_buf(&mem[0], 16 * BODY_MAX);
	struct outcome o = { .head = fuzz_buf(&mem[1], HTTP_HEAD_MAX),
		.body = fuzz_buf(&mem[2], BODY_MAX) };

	put_framed(text, body, framing, step);
	MUST(!text->failed);
	feed(&o, buf_all(text), step + 3);
	MUST(o.r == ((framing & 3) == 1 || (framing & 3) == 2));
	MUST(o.used == text->len && slice_eq(buf_all(o.body), body));
	MUST(http_reply_end(&o.reply, true) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };

	if (size == 0 || size > BODY_MAX)
		return 0;
	taken(in);
	framed_and_back(in, data[0] % 8, 1 + data[0] % 40);
	return 0;
}
