/* The reading side of a connection: heads, bodies, routes, what comes after an answer. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "http/conn.h"

enum { IN_MAX = HTTP_HEAD_MAX + HTTP_SMALL_BODY + READ_CHUNK };

static char chunk[READ_CHUNK];		/* shared by all connections (decision 21) */
static struct upload uploads[UPLOADS_MAX];

/* --- refusing --- */

/* An answer after which the connection ends, since what follows in it cannot be told apart any more. */
static void refuse(struct http_conn *c, int status, const char *text)
{
	char mem[512];
	struct buf fields, body;
	char body_mem[256];

	buf_over(&fields, mem, sizeof(mem));
	buf_over(&body, body_mem, sizeof(body_mem));
	if (http_server->fields)
		http_server->fields(NULL, &fields);
	if (status == 503)
		buf_puts(&fields, "Retry-After: 1\r\n");
	buf_printf(&body, "{\"error\":\"%s\"}", text);
	c->keep_alive = false;
	http_answer(c, status, "application/json", buf_all(&fields), buf_all(&body));
}

static const char *refusal_text(int status)
{
	switch (status) {
	case 408: return "Request timeout: the request did not arrive in time";
	case 413: return "Content too large: a body holds at most 16 MiB";
	case 417: return "Expectation failed: only 100-continue is known";
	case 431: return "Request head too large: at most 16 KiB and 100 fields";
	case 501: return "Transfer-Encoding not implemented: only chunked is known";
	case 503: return "Server is busy: too many large uploads, try again";
	case 505: return "HTTP version not supported: only 1.0 and 1.1 are";
	}
	return "Bad request: not a well-formed HTTP request";
}

/* --- routes --- */

static const struct http_route *route_find(const struct http_head *h, unsigned *allowed)
{
	unsigned bit = 1u << (h->method == HTTP_HEAD ? HTTP_GET : h->method);

	*allowed = 0;
	for (const struct http_route *r = http_server->routes; r->path; r++) {
		if (!http_path_is(h->path, r->path))
			continue;
		if (r->methods & bit)
			return r;
		*allowed |= r->methods;
	}
	return NULL;
}

static void put_allow(struct buf *b, unsigned methods)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ 1 << HTTP_GET, "GET, HEAD" },
		{ 1 << HTTP_POST, "POST" },
		{ 1 << HTTP_DELETE, "DELETE" },
		{ 1 << HTTP_OPTIONS, "OPTIONS" },
	};
	const char *comma = "Allow: ";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (methods & names[i].bit) {
			buf_printf(b, "%s%s", comma, names[i].name);
			comma = ", ";
		}
	buf_puts(b, "\r\n");
}

static void no_route(struct http_request *r, unsigned allowed)
{
	char mem[1 * KIB];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	if (http_server->fields)
		http_server->fields(r->head, &fields);
	if (allowed)
		put_allow(&fields, allowed);
	http_answer(r->conn, allowed ? 405 : 404, "application/json", buf_all(&fields),
		allowed ? LIT("{\"error\":\"Method not allowed\"}") : LIT("{\"error\":\"Not found\"}"));
}

/* --- a request --- */

/*
 * The gate has let it pass, or not: then it is answered, and where a body follows that nobody will read the connection
 * ends after that.
 */
static const struct http_route *request_route(struct http_request *r, bool body_there)
{
	unsigned allowed;
	const struct http_route *route = route_find(r->head, &allowed);

	if (!body_there)
		r->conn->keep_alive = false;
	if (!route) {
		no_route(r, allowed);
		return NULL;
	}
	if (route->gate && !route->gate(r))
		return NULL;
	r->conn->keep_alive = r->head->keep_alive;
	return route;
}

static void request_serve(struct http_request *r, const struct http_route *route)
{
	struct http_conn *c = r->conn;

	conn_queue(c, QUEUE_NONE);
	route->serve(r);
	if (c->state == CONN_WAIT) {
		watch_want(&c->w, LOOP_HANGUP);
		conn_queue(c, QUEUE_QUIET);
	}
}

static void say_continue(struct http_conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (send(c->w.fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
		conn_close(c);
}

static struct upload *upload_take(void)
{
	for (int i = 0; i < UPLOADS_MAX; i++) {
		struct upload *u = &uploads[i];

		if (u->used || (!u->text.max && buf_reserve(&u->text, REQUEST_MAX) < 0))
			continue;
		u->used = true;
		return u;
	}
	return NULL;
}

static void upload_give(struct extra *x)
{
	if (!x->upload)
		return;
	buf_reset(&x->upload->text, false);
	x->upload->used = false;
	x->upload = NULL;
}

/* Body bytes into the upload buffer. 1: complete; 0: more to come; or a status to refuse with. */
static int upload_feed(struct extra *x, struct slice *in)
{
	struct slice part;
	int r = 0;

	if (x->left >= 0) {
		part = slice_head(*in, (size_t)x->left < in->n ? (size_t)x->left : in->n);
		buf_slice(&x->upload->text, part);
		*in = slice_from(*in, part.n);
		x->left -= (int64_t)part.n;
		return x->upload->text.failed ? 503 : x->left == 0;
	}
	while (r == 0 && in->n) {
		r = chunked_take(&x->chunked, in, &part);
		buf_slice(&x->upload->text, part);
	}
	if (r < 0)
		return 400;
	if (x->upload->text.failed)
		return x->upload->text.len + part.n > REQUEST_MAX ? 413 : 503;
	return r;
}

static bool keep_bytes(struct http_conn *c, struct slice bytes)
{
	struct extra *x = conn_extra(c);

	if (!bytes.n)
		return true;
	if (!x->in.max && buf_reserve(&x->in, IN_MAX) < 0)
		return false;
	buf_slice(&x->in, bytes);
	return !x->in.failed;
}

/*
 * A body that is not there yet: a small one of known length will be collected behind its head, any other in an upload
 * buffer. 0, or a status to refuse with.
 */
static int body_begin(struct http_conn *c, const struct http_head *h, size_t head)
{
	struct extra *x = conn_extra(c);
	bool small = !h->chunked && h->length <= HTTP_SMALL_BODY;

	x->head = head;
	x->left = h->chunked ? -1 : h->length;
	chunked_init(&x->chunked);
	x->upload = small ? NULL : upload_take();
	if (!small && !x->upload)
		return 503;
	c->state = CONN_BODY;
	conn_queue(c, QUEUE_BODY);
	if (h->expect_continue)
		say_continue(c);
	return 0;
}

/* What has come behind the head so far goes where the body is collected. */
static void body_first(struct http_conn *c)
{
	struct extra *x = conn_extra(c);
	struct slice body = slice_from(buf_all(&x->in), x->head);
	int r;

	if (!x->upload)
		return;
	r = upload_feed(x, &body);
	buf_cut(&x->in, x->head);
	if (r > 1)
		refuse(c, r, refusal_text(r));
}

/* A chunked body that stands complete in text, decoded in place. Gives the bytes used, 0: not complete; or -EBADMSG. */
static ssize_t decode_here(char *text, size_t n, size_t *body_len)
{
	struct chunked ck;
	struct slice in = { text, n }, part;
	size_t len = 0;
	int r = 0;

	/* A first pass only looks, so that an incomplete body is still whole afterwards. */
	chunked_init(&ck);
	while (r == 0 && in.n)
		r = chunked_take(&ck, &in, &part);
	if (r <= 0)
		return r;
	chunked_init(&ck);
	in = (struct slice){ text, n };
	for (r = 0; r == 0;) {
		r = chunked_take(&ck, &in, &part);
		memmove(text + len, part.p, part.n);
		len += part.n;
	}
	*body_len = len;
	return (ssize_t)(n - in.n);
}

/* The body behind the head, as far as it stands complete in text; *used is 0 when not. A status or 0. */
static int body_here(const struct http_head *h, char *text, size_t head, size_t n, struct slice *body, size_t *used)
{
	size_t len = h->length > 0 ? (size_t)h->length : 0;
	ssize_t r = (ssize_t)len;

	*used = 0;
	if (h->length > REQUEST_MAX)
		return 413;
	if (h->chunked)
		r = decode_here(text + head, n - head, &len);
	else if (n - head < len)
		return 0;
	if (r < 0)
		return 400;
	if (!h->chunked || r > 0)
		*used = head + (size_t)r;
	*body = (struct slice){ text + head, len };
	return 0;
}

static void conn_note_head(struct http_conn *c, const struct http_head *h)
{
	c->minor = h->minor > 0;
	c->keep_alive = h->keep_alive;
	c->head_only = h->method == HTTP_HEAD;
	c->stream = false;
}

/*
 * One request at the start of text, whose head has `head` bytes. Gives the bytes used; 0 when its body is still to
 * come, or when the connection was refused or closed.
 */
static size_t request_take(struct http_conn *c, char *text, size_t head, size_t n)
{
	struct http_head h;
	struct http_request r = { .conn = c, .head = &h };
	const struct http_route *route;
	size_t used = 0;
	int status = http_head_parse(&h, (struct slice){ text, head });

	conn_note_head(c, &h);
	if (status == 0)
		status = body_here(&h, text, head, n, &r.body, &used);
	if (status) {
		refuse(c, status, refusal_text(status));
		return 0;
	}
	route = request_route(&r, used != 0);
	if (!route)
		return used;
	if (used) {
		request_serve(&r, route);
		return used;
	}
	status = body_begin(c, &h, head);
	if (status)
		refuse(c, status, refusal_text(status));
	return 0;
}

/* --- bytes --- */

/* Serves what stands complete in text; gives how much of it is done with. */
static size_t serve_text(struct http_conn *c, char *text, size_t n)
{
	struct extra *x = conn_extra(c);
	size_t at = 0, head, used;

	while (c->state == CONN_HEAD && at < n) {
		head = http_head_end((struct slice){ text + at, n - at }, &x->scanned);
		if (!head && n - at <= HTTP_HEAD_MAX)
			break;
		x->scanned = 0;
		if (!head || head > HTTP_HEAD_MAX) {
			refuse(c, 431, refusal_text(431));
			break;
		}
		used = request_take(c, text + at, head, n - at);
		if (!used)
			break;
		at += used;
	}
	return at;
}

/* Bytes of a connection between requests: served, or kept until more come. */
static void head_feed(struct http_conn *c, struct slice fresh)
{
	struct extra *x = conn_extra(c);
	bool own = x->in.len > 0;
	char *text = own ? x->in.p : chunk;
	size_t n, done;

	if (own && !keep_bytes(c, fresh)) {
		refuse(c, 503, refusal_text(503));
		return;
	}
	n = own ? x->in.len : fresh.n;
	c->reading = true;
	done = serve_text(c, text, n);
	c->reading = false;
	if (c->state == CONN_FREE || c->state == CONN_LINGER)
		return;
	if (own)
		buf_drop(&x->in, done);
	else if (!keep_bytes(c, (struct slice){ text + done, n - done }))
		conn_close(c);
	if (c->state == CONN_BODY)
		body_first(c);
	else if (c->state == CONN_HEAD && x->in.len && c->queue != QUEUE_HEAD)
		conn_queue(c, QUEUE_HEAD);
	if (x->in.max && !x->in.len)
		buf_release(&x->in);
}

/* The body is complete: the request is served as if it had come at once, then what came behind it. */
static void body_end(struct http_conn *c, struct slice after)
{
	struct extra *x = conn_extra(c);
	struct http_head h;
	struct http_request r = { .conn = c, .head = &h };
	unsigned allowed;

	if (http_head_parse(&h, (struct slice){ x->in.p, x->head }) != 0)
		return conn_close(c);	/* it was parsed before */
	r.upload = x->upload ? &x->upload->text : NULL;
	r.body = x->upload ? buf_all(r.upload) : (struct slice){ x->in.p + x->head, (size_t)h.length };
	c->state = CONN_HEAD;
	c->reading = true;
	request_serve(&r, route_find(&h, &allowed));
	c->reading = false;
	if (c->state == CONN_FREE)
		return;
	buf_drop(&x->in, x->upload ? x->in.len : x->head + r.body.n);
	upload_give(x);
	if (!keep_bytes(c, after))
		conn_close(c);
	else if (c->state == CONN_HEAD && x->in.len)
		head_feed(c, (struct slice){ 0 });
}

static void body_feed(struct http_conn *c, struct slice fresh)
{
	struct extra *x = conn_extra(c);
	int r;

	if (x->upload) {
		r = upload_feed(x, &fresh);
		if (r > 1)
			refuse(c, r, refusal_text(r));
		else if (r)
			body_end(c, fresh);
	} else if (!keep_bytes(c, fresh)) {
		refuse(c, 503, refusal_text(503));
	} else if (x->in.len - x->head >= (size_t)x->left) {
		body_end(c, (struct slice){ 0 });
	}
}

/* --- events --- */

static void conn_read(struct http_conn *c)
{
	ssize_t n = recv(c->w.fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		conn_close(c);
	else if (c->state == CONN_HEAD)
		head_feed(c, (struct slice){ chunk, (size_t)n });
	else if (c->state == CONN_BODY)
		body_feed(c, (struct slice){ chunk, (size_t)n });
}

/* The peer of a waiting connection has closed, or only its sending side. */
static void conn_hangup(struct http_conn *c)
{
	char byte;
	bool closed = recv(c->w.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno != EAGAIN;

	if (!closed && c->waiter->gone(c, false)) {
		c->half = true;
		watch_want(&c->w, c->w.want & LOOP_WRITE);
		return;
	}
	if (!closed)
		c->state = CONN_SEND;	/* it knows already */
	conn_close(c);
}

static void conn_ready(struct watch *w, unsigned events)
{
	struct http_conn *c = container_of(w, struct http_conn, w);

	if (events & LOOP_READ)
		conn_read(c);
	else if (events & LOOP_WRITE)
		conn_write(c);
	else
		conn_hangup(c);
}

void conn_open(struct http_conn *c, int fd)
{
	c->w.ready = conn_ready;
	if (watch_add(&c->w, fd, LOOP_READ) < 0) {
		c->w.fd = fd;
		conn_close(c);
		return;
	}
	conn_queue(c, QUEUE_IDLE);
}

void http_wait(struct http_conn *c, const struct http_waiter *w, void *user)
{
	c->state = CONN_WAIT;
	c->waiter = w;
	c->user = user;
}

/* A connection that ends is closed on our side and read to its end, so that a reset does not eat the answer. */
static void conn_linger(struct http_conn *c)
{
	shutdown(c->w.fd, SHUT_WR);
	c->state = CONN_LINGER;
	watch_want(&c->w, LOOP_READ);
	conn_queue(c, QUEUE_LINGER);
}

void conn_next(struct http_conn *c)
{
	struct extra *x = conn_extra(c);

	if (!c->keep_alive) {
		conn_linger(c);
		return;
	}
	c->state = CONN_HEAD;
	c->waiter = NULL;
	c->half = false;
	watch_want(&c->w, LOOP_READ);
	conn_queue(c, QUEUE_IDLE);
	if (!c->reading && x->in.len)
		head_feed(c, (struct slice){ 0 });
}

void conn_late(struct http_conn *c)
{
	bool begun = conn_extra(c)->in.len > 0;

	if (c->state == CONN_WAIT) {
		conn_queue(c, QUEUE_QUIET);
		c->waiter->quiet(c);
	} else if (c->state == CONN_BODY || (c->state == CONN_HEAD && begun)) {
		refuse(c, 408, refusal_text(408));
	} else {
		conn_close(c);
	}
}
