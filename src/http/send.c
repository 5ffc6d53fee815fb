/* Answers: building heads, sending what the socket takes, keeping the rest. */
#include <errno.h>

#include "base/clock.h"
#include "http/conn.h"

static const struct {
	int status;
	const char *text;
} reasons[] = {
	// clang-format off
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 410, "Gone" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
	// clang-format on
};

static const char *reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Status";
}

/* --- heads --- */

static void put_date(struct buf *b)
{
	static char mem[40];
	static struct buf text;
	static int64_t second = -1;
	int64_t now = clock_unix();

	if (now != second) {
		second = now;
		buf_over(&text, mem, sizeof(mem));
		clock_put_http(&text, now);
	}
	buf_puts(b, "Date: ");
	buf_slice(b, buf_all(&text));
	buf_puts(b, "\r\n");
}

/* RFC 9110 section 8.6: a 204 has neither a body nor a length. */
static void put_length(struct http_conn *c, struct buf *b, int status, int64_t length)
{
	if (status == 204)
		return;
	if (length >= 0)
		buf_printf(b, "Content-Length: %lld\r\n", (long long)length);
	else if (c->minor > 0)
		buf_puts(b, "Transfer-Encoding: chunked\r\n");
	else
		c->keep_alive = false;
}

void http_put_head(struct http_conn *c, struct buf *b, int status, const char *type,
	struct slice fields, int64_t length)
{
	buf_printf(b, "HTTP/1.1 %d %s\r\n", status, reason(status));
	put_date(b);
	if (type)
		buf_printf(b, "Content-Type: %s\r\n", type);
	put_length(c, b, status, length);
	if (http_stopping())
		c->keep_alive = false;
	if (!c->keep_alive)
		buf_puts(b, "Connection: close\r\n");
	else if (c->minor == 0)
		buf_puts(b, "Connection: keep-alive\r\n");
	buf_slice(b, fields);
	buf_puts(b, "\r\n");
}

/* --- sending --- */

static bool out_pending(const struct http_conn *c)
{
	const struct extra *x = conn_extra(c);

	return x->out.len > x->out_sent || x->parts_n || wire_busy(c);
}

/* What was copied, then the parts. 0 or -errno. */
static int out_send(struct http_conn *c, struct extra *x)
{
	struct slice copied = buf_since(&x->out, x->out_sent);
	int n = copied.n > 0, r = wire_send(c, &copied, &n);

	if (r == 0 && n == 0) {
		buf_cut(&x->out, 0);
		x->out_sent = 0;
		return wire_send(c, x->parts, &x->parts_n);
	}
	x->out_sent = x->out.len - copied.n;
	return r;
}

/* The whole answer is out. */
static void conn_sent(struct http_conn *c)
{
	struct extra *x = conn_extra(c);

	if (x->out.max) {
		buf_release(&x->out);
		conn_held(c);
	}
	if (c->owed) {
		c->owed = false;
		c->waiter->sent(c);
	}
	conn_next(c);
}

void conn_write(struct http_conn *c)
{
	struct extra *x = conn_extra(c);

	if (out_send(c, x) < 0) {
		conn_close(c);
	} else if (c->state == CONN_WAIT) { /* in the middle of a stream */
		wire_want(c,
			(out_pending(c) ? LOOP_WRITE : 0u) | (c->half ? LOOP_GONE : LOOP_HANGUP));
	} else if (out_pending(c)) {
		wire_want(c, LOOP_WRITE);
		conn_queue(c, QUEUE_SEND);
	} else {
		conn_sent(c);
	}
}

void http_answer(
	struct http_conn *c, int status, const char *type, struct slice fields, struct slice body)
{
	char mem[HTTP_ANSWER_FIELDS + 512]; /* and the lines that each answer has */
	struct buf head;
	struct slice parts[2];
	struct extra *x = conn_extra(c);
	int n = 2, r;

	buf_over(&head, mem, sizeof(mem));
	http_put_head(c, &head, status, type, fields, (int64_t)body.n);
	parts[0] = buf_all(&head);
	parts[1] = body;
	if (c->head_only || !body.n)
		n = 1;
	c->state = CONN_SEND;
	r = wire_send(c, parts, &n);
	if (r == 0 && n && !buf_ready(&x->out, HTTP_ANSWER_MAX))
		r = -ENOMEM;
	for (int i = 0; r == 0 && i < n; i++)
		buf_slice(&x->out, parts[i]);
	conn_held(c);
	if (r < 0 || head.failed || x->out.failed)
		conn_close(c);
	else if (n || wire_busy(c))
		conn_write(c);
	else
		conn_sent(c);
}

void http_send(struct http_conn *c, const struct slice *parts, int n)
{
	struct extra *x = conn_extra(c);
	struct slice rest[HTTP_PARTS_MAX];
	int r = 0;

	memcpy(rest, parts, (size_t)n * sizeof(*parts));
	c->owed = true;
	c->state = CONN_SEND;
	if (!out_pending(c))
		r = wire_send(c, rest, &n);
	if (r < 0) {
		conn_close(c);
	} else if (!n && !wire_busy(c)) { /* as nearly always: the extra part of the connection is
					     not touched */
		conn_sent(c);
	} else {
		memcpy(x->parts, rest, (size_t)n * sizeof(*rest));
		x->parts_n = n;
		conn_write(c);
	}
}

/* --- streams --- */

bool http_streaming(const struct http_conn *c)
{
	return c->stream;
}

/* The head before the first message, the size of a chunk before each (HTTP/1.0 has no chunks).
 * False: no memory. */
static bool stream_put(struct http_conn *c, const char *type, struct slice fields, size_t size)
{
	struct extra *x = conn_extra(c);

	if (!buf_ready(&x->out, HTTP_ANSWER_MAX))
		return false;
	if (!c->stream)
		http_put_head(c, &x->out, 200, type, fields, -1);
	c->stream = true;
	if (c->minor > 0)
		buf_printf(&x->out, "%zx\r\n", size);
	conn_held(c);
	return !x->out.failed;
}

bool http_stream(struct http_conn *c, const char *type, struct slice fields, struct slice message)
{
	struct extra *x = conn_extra(c);

	if (out_pending(c) || !stream_put(c, type, fields, message.n))
		return false;
	buf_slice(&x->out, message);
	if (c->minor > 0)
		buf_puts(&x->out, "\r\n");
	conn_held(c);
	if (x->out.failed) {
		conn_close(c);
		return false;
	}
	conn_queue(c, QUEUE_QUIET);
	conn_write(c);
	return true;
}

void http_stream_end(struct http_conn *c, const char *type, struct slice fields,
	const struct slice *parts, int n)
{
	struct slice all[HTTP_PARTS_MAX];
	size_t size = 0;

	for (int i = 0; i < n; i++) {
		all[i] = parts[i];
		size += parts[i].n;
	}
	if (!stream_put(c, type, fields, size))
		c->keep_alive = false; /* the client sees the stream cut */
	if (c->minor > 0)
		all[n++] = LIT("\r\n0\r\n\r\n");
	http_send(c, all, n);
}

/* --- what an answer may want to know --- */

const unsigned char *http_peer(const struct http_conn *c)
{
	return c->peer;
}

void *http_user(const struct http_conn *c)
{
	return c->user;
}
