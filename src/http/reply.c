#include "http/reply.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "http/field.h"

enum { HEAD, LENGTH, CHUNKS, UNTIL_CLOSE, END };

static const char body_too_big[] = "its body is over 64 MiB";

void http_reply_init(struct http_reply *r, struct buf *head)
{
	*r = (struct http_reply){ .head = head, .length = -1 };
}

static int wrong(struct http_reply *r, const char *what)
{
	r->wrong = what;
	return -EBADMSG;
}

static int too_big(struct http_reply *r, const char *what)
{
	r->wrong = what;
	return -E2BIG;
}

/* --- status line --- */

/* "HTTP/1.1 200 OK", the reason and the blank before it may be missing. */
static int status_line(struct http_reply *r, struct slice line)
{
	struct slice version = str_split(&line, ' '), digits = str_split(&line, ' ');
	int64_t status;
	int major;

	if (!http_version(version, &major, &r->minor) || major != 1)
		return wrong(r, "it does not begin with HTTP/1.x");
	if (digits.n != 3 || digits.p[0] == '-' || str_int(digits, &status) < 0 || status < 100)
		return wrong(r, "its status has not three digits");
	if (!http_is_value(line))
		return wrong(r, "control characters in its status line");
	r->status = (int)status;
	r->reason = line;
	return 0;
}

/* --- fields --- */

static int length_field(struct http_reply *r, struct slice v)
{
	int64_t length;

	if (!http_length(v, &length))
		return wrong(r, "its Content-Length is no length");
	if (r->length >= 0 && r->length != length)
		return wrong(r, "two Content-Lengths that differ");
	r->length = length;
	return 0;
}

static int coding_field(struct http_reply *r, struct slice v)
{
	if (!http_same(v, "chunked") || r->chunked_body)
		return wrong(r, "a Transfer-Encoding other than chunked");
	r->chunked_body = true;
	return 0;
}

static int encoding_field(struct http_reply *r, struct slice v)
{
	return v.n == 0 || http_same(v, "identity") ? 0 : wrong(r, "a Content-Encoding");
}

static int connection_field(struct http_reply *r, struct slice v)
{
	if (http_list_has(v, "close"))
		r->keep_alive = false;
	else if (r->minor == 0 && http_list_has(v, "keep-alive"))
		r->keep_alive = true;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct http_reply *r, struct slice v); /* NULL: kept at `at` */
	size_t at;
} fields[] = {
	// clang-format off
	{ "content-length", length_field, 0 },
	{ "transfer-encoding", coding_field, 0 },
	{ "content-encoding", encoding_field, 0 },
	{ "connection", connection_field, 0 },
	{ "content-type", NULL, offsetof(struct http_reply, type) },
	{ "retry-after", NULL, offsetof(struct http_reply, retry_after) },
	{ "location", NULL, offsetof(struct http_reply, location) },
	// clang-format on
};

/* The first of several counts. */
static int field_keep(struct http_reply *r, size_t at, struct slice v)
{
	struct slice *kept = (struct slice *)(void *)((char *)r + at);

	if (!kept->p)
		*kept = v;
	return 0;
}

static int field_line(struct http_reply *r, struct slice line)
{
	struct slice name, value;

	if (!http_field_split(line, &name, &value))
		return wrong(r, "a malformed field");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (http_same(name, fields[i].name))
			return fields[i].take ? fields[i].take(r, value)
					      : field_keep(r, fields[i].at, value);
	return 0;
}

static int head_parse(struct http_reply *r, struct slice text)
{
	struct slice line;
	int count = 0, e = status_line(r, http_line_take(&text));

	r->keep_alive = r->minor > 0;
	while (e == 0 && text.n) {
		line = http_line_take(&text);
		if (!line.n)
			break;
		e = ++count > HTTP_FIELDS_MAX ? too_big(r, "more than 100 fields")
					      : field_line(r, line);
	}
	return e;
}

/* --- the head as it comes --- */

/* Everything about a head is forgotten, for the one that follows it. */
static int interim_skip(struct http_reply *r)
{
	struct http_reply next = { .head = r->head, .length = -1 };

	if (r->status == 101)
		return wrong(r, "it switches to a protocol nobody asked for");
	next.interims = r->interims + 1;
	if (next.interims > REPLY_INTERIMS_MAX)
		return too_big(r, "more than 16 interim replies");
	buf_cut(r->head, 0);
	*r = next;
	return 0;
}

/* What the final head says about the body (RFC 9112 section 6.3). */
static int body_begin(struct http_reply *r)
{
	if (r->chunked_body && (r->length >= 0 || r->minor == 0))
		return wrong(r, "Transfer-Encoding where Content-Length counts");
	if (r->status == 204 || r->status == 304) {
		if (r->chunked_body || r->length > 0) /* whether it then comes nobody knows */
			r->keep_alive = false;
		r->state = END;
	} else if (r->chunked_body) {
		chunked_init(&r->chunked);
		r->state = CHUNKS;
	} else if (r->length >= 0) {
		r->state = r->length ? LENGTH : END;
	} else {
		r->keep_alive = false;
		r->state = UNTIL_CLOSE;
	}
	if (r->state == LENGTH && r->length > REPLY_BODY_MAX)
		return too_big(r, body_too_big);
	return 0;
}

/* Another protocol is found out by its first bytes: its lines may never end. */
static bool begins_as_http(struct slice s)
{
	return memcmp(s.p, "HTTP/", at_most(s.n, 5)) == 0;
}

static int head_take(struct http_reply *r, struct slice *in)
{
	size_t before = r->head->len, end;
	struct slice some = slice_head(*in, HTTP_HEAD_MAX - before);
	int e;

	buf_slice(r->head, some);
	if (r->head->failed)
		return -ENOMEM;
	if (!begins_as_http(buf_all(r->head)))
		return wrong(r, "it does not begin with HTTP/1.x");
	end = http_head_end(buf_all(r->head), &r->scanned);
	if (!end) {
		*in = slice_from(*in, some.n);
		return r->head->len < HTTP_HEAD_MAX ? 0 : too_big(r, "its head is over 16 KiB");
	}
	*in = slice_from(*in, end - before);
	buf_cut(r->head, end);
	e = head_parse(r, buf_all(r->head));
	if (e)
		return e;
	return r->status < 200 ? interim_skip(r) : body_begin(r);
}

/* --- the body --- */

static int length_take(struct http_reply *r, struct slice *in, struct slice *part)
{
	uint64_t left = (uint64_t)r->length - r->got;

	*part = slice_head(*in, left < in->n ? (size_t)left : in->n);
	*in = slice_from(*in, part->n);
	return part->n == left;
}

static int body_take(struct http_reply *r, struct slice *in, struct slice *part)
{
	int e = 0;

	if (r->state == LENGTH) {
		e = length_take(r, in, part);
	} else if (r->state == CHUNKS) {
		e = chunked_take(&r->chunked, in, part);
	} else {
		*part = *in;
		*in = slice_from(*in, in->n);
	}
	if (e < 0)
		return wrong(r, "a malformed chunk");
	r->got += part->n;
	if (r->got > REPLY_BODY_MAX)
		return too_big(r, body_too_big);
	if (e)
		r->state = END;
	return e;
}

int http_reply_take(struct http_reply *r, struct slice *in, struct slice *part)
{
	int e = 0;

	*part = (struct slice){ in->p, 0 };
	while (e == 0 && r->state == HEAD && in->n)
		e = head_take(r, in);
	if (e || r->state == HEAD)
		return e;
	return r->state == END ? 1 : body_take(r, in, part);
}

int http_reply_end(struct http_reply *r, bool orderly)
{
	if (r->state == UNTIL_CLOSE && orderly)
		r->state = END;
	return r->state == END ? 1 : -EPIPE;
}
