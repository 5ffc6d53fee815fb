/* The reading side of a connection: from bytes to requests, and what comes after an answer. */
#include <errno.h>

#include "base/secret.h"
#include "http/conn.h"

static char chunk[READ_CHUNK]; /* shared by all connections (decision 21) */

/* --- a request --- */

static void request_serve(struct http_request *r, const struct http_route *route)
{
	struct http_conn *c = r->conn;

	conn_queue(c, QUEUE_NONE);
	route->serve(r);
	if (c->state == CONN_WAIT) {
		wire_want(c, LOOP_HANGUP);
		conn_queue(c, QUEUE_QUIET);
	}
}

static void conn_note_head(struct http_conn *c, const struct http_head *h)
{
	c->minor = h->minor > 0;
	c->keep_alive = h->keep_alive;
	c->head_only = h->method == HTTP_HEAD;
	c->stream = false;
}

/*
 * One request at the start of text, whose head has `head` bytes. Gives the bytes used; 0 when its
 * body is still to come, or when the connection was refused or closed.
 */
static size_t request_take(struct http_conn *c, char *text, size_t head, size_t n)
{
	struct http_head h;
	struct http_request r = { .conn = c, .head = &h };
	const struct http_route *route;
	size_t used = 0, max;
	int status = http_head_parse(&h, (struct slice){ text, head });

	conn_note_head(c, &h);
	if (status == 0)
		status = body_here(&h, text, head, n, &r.body, &used);
	if (status) {
		conn_refuse(c, status);
		return 0;
	}
	route = route_request(&r, used != 0);
	if (!route)
		return used;
	max = route->body_max ? route->body_max : HTTP_SMALL_BODY;
	if (h.length > (int64_t)max || r.body.n > max) {
		conn_refuse(c, 413);
		return 0;
	}
	if (used) {
		request_serve(&r, route);
		return used;
	}
	status = body_begin(c, &h, head, max);
	if (status)
		conn_refuse(c, status);
	return 0;
}

/* --- bytes --- */

/* A TLS client, for one, never comes to the end of a line, and would wait for ours. */
static bool begins_as_request(const char *text)
{
	return *text == '\r' || *text == '\n' || http_is_token((struct slice){ text, 1 });
}

/* Serves what stands complete in text, as far as it is this connection's turn; gives how much of it
 * is done with. */
static size_t serve_text(struct http_conn *c, char *text, size_t n)
{
	struct extra *x = conn_extra(c);
	size_t at = 0, head, used;
	int served = 0;

	while (c->state == CONN_HEAD && at < n) {
		c->paused = served++ == PIPELINED_MAX;
		if (c->paused)
			break;
		head = http_head_end((struct slice){ text + at, n - at }, &x->scanned);
		if (!head && n - at <= HTTP_HEAD_MAX && begins_as_request(text + at))
			break;
		if (x->scanned) /* written only where needed: an untouched page takes no memory */
			x->scanned = 0;
		if (!head || head > HTTP_HEAD_MAX) {
			conn_refuse(c, n - at > HTTP_HEAD_MAX ? 431 : 400);
			break;
		}
		used = request_take(c, text + at, head, n - at);
		if (!used)
			break;
		at += used;
	}
	return at;
}

static void conn_pause(struct http_conn *c)
{
	wire_want(c, 0);
	conn_queue(c, QUEUE_MORE);
}

/* Bytes of a connection between requests: served, or kept until more come. */
static void head_feed(struct http_conn *c, struct slice fresh)
{
	struct extra *x = conn_extra(c);
	bool own = x->in.len > 0;
	char *text = own ? x->in.p : chunk;
	size_t n, done;

	if (own && !conn_keep(c, fresh)) {
		conn_refuse(c, 503);
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
	else if (!conn_keep(c, (struct slice){ text + done, n - done }))
		conn_close(c);
	if (c->paused)
		conn_pause(c);
	else if (c->state == CONN_BODY)
		body_first(c);
	else if (c->state == CONN_HEAD && x->in.len && c->queue != QUEUE_HEAD)
		conn_queue(c, QUEUE_HEAD);
	if (x->in.max && !x->in.len) {
		buf_release(&x->in);
		conn_held(c);
	}
}

/* The body is complete: the request is served as if it had come at once, then what came behind it.
 */
static void body_end(struct http_conn *c, struct slice after)
{
	struct extra *x = conn_extra(c);
	struct http_head h;
	struct http_request r = { .conn = c, .head = &h };
	unsigned allowed;

	if (http_head_parse(&h, (struct slice){ x->in.p, x->head }) != 0)
		return conn_close(c); /* it was parsed before */
	r.upload = x->upload ? &x->upload->text : NULL;
	r.body = body_all(x);
	c->state = CONN_HEAD;
	c->reading = true;
	request_serve(&r, route_find(c, &h, &allowed));
	c->reading = false;
	if (c->state == CONN_FREE)
		return;
	buf_drop(&x->in, x->in.len);
	upload_give(x);
	if (!conn_keep(c, after))
		conn_close(c);
	else if (c->state == CONN_HEAD && x->in.len)
		head_feed(c, (struct slice){ 0 });
}

static void body_feed(struct http_conn *c, struct slice fresh)
{
	struct extra *x = conn_extra(c);
	int r;

	conn_queue(
		c, QUEUE_BODY); /* only silence is bounded: a large body over a slow line is fine */
	r = body_take(x, &fresh);
	conn_held(c);
	if (r > 1)
		conn_refuse(c, r);
	else if (r)
		body_end(c, fresh);
}

/* --- events --- */

static void conn_read(struct http_conn *c)
{
	ssize_t n = wire_read(c, chunk, sizeof(chunk));

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0)
		conn_close(c);
	else if (c->state == CONN_HEAD)
		head_feed(c, (struct slice){ chunk, (size_t)n });
	else if (c->state == CONN_BODY)
		body_feed(c, (struct slice){ chunk, (size_t)n });
	if (n > 0)
		secret_wipe(chunk, (size_t)n); /* there may have been tokens in it */
}

/* The peer of a waiting connection has closed, or only its sending side. */
static void conn_hangup(struct http_conn *c, bool closed)
{
	if (!closed) {
		c->half = true;
		wire_want(c, (c->w.want & LOOP_WRITE) | LOOP_GONE);
		if (c->waiter->gone(c, false))
			return;
		c->state = CONN_SEND; /* it knows already */
	}
	conn_close(c);
}

void conn_ready(struct http_conn *c, unsigned events)
{
	if (events & LOOP_READ)
		conn_read(c);
	else if (events & LOOP_WRITE)
		conn_write(c);
	else
		conn_hangup(c, events & LOOP_GONE || wire_is_dead(c));
}

void conn_open(struct http_conn *c, int fd)
{
	if (wire_open(c, fd) < 0) {
		conn_close(c);
	} else if (c->tls) {
		c->state = CONN_HANDSHAKE;
		conn_queue(c, QUEUE_HANDSHAKE);
	} else {
		conn_queue(c, QUEUE_IDLE);
	}
}

void conn_begin(struct http_conn *c)
{
	c->state = CONN_HEAD;
	wire_want(c, LOOP_READ);
	conn_queue(c, QUEUE_IDLE);
}

void http_wait(struct http_conn *c, const struct http_waiter *w, void *user)
{
	c->state = CONN_WAIT;
	c->waiter = w;
	c->user = user;
}

/* A connection that ends is closed on our side and read to its end, so that a reset does not eat
 * the answer. */
static void conn_linger(struct http_conn *c)
{
	c->state = CONN_LINGER;
	if (wire_shut(c) < 0)
		conn_close(c);
	else
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
	wire_want(c, LOOP_READ);
	conn_queue(c, QUEUE_IDLE);
	if (!c->reading && x->in.len)
		head_feed(c, (struct slice){ 0 });
}

void conn_late(struct http_conn *c)
{
	bool begun = conn_extra(c)->in.len > 0;

	if (c->paused) {
		c->paused = false;
		wire_want(c, LOOP_READ);
		conn_queue(c, QUEUE_IDLE);
		head_feed(c, (struct slice){ 0 });
	} else if (c->state == CONN_WAIT) {
		conn_queue(c, QUEUE_QUIET);
		c->waiter->quiet(c);
	} else if (c->state == CONN_BODY || (c->state == CONN_HEAD && begun)) {
		conn_refuse(c, 408);
	} else {
		conn_close(c);
	}
}
