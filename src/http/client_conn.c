/* An open connection: a request, its reply, then the next one. */
#include <errno.h>
#include <sys/socket.h>

#include "base/str.h"
#include "http/client_conn.h"
#include "version.h"

/* --- the end --- */

void client_close(struct client_conn *k)
{
	client_open_stop(k);
	timer_clear(&k->step);
	tls_client_end(&k->tls);
	trace_end(&k->trace, "given up before the reply was whole");
	buf_release(&k->out);
	buf_release(&k->head);
	k->call = NULL;
	k->state = CLIENT_FREE;
	calls_look();
}

void client_fail(struct client_conn *k, enum http_call_failure failure)
{
	struct http_call *c = k->call;

	call_say(c, k, failure);
	if (!c->status)
		trace_head(&k->trace, buf_all(&k->head));
	trace_end(&k->trace, c->text);
	client_close(k);
	call_settle(c, failure);
}

static void idle_late(struct timer *t)
{
	client_close(container_of(t, struct client_conn, step));
}

static void client_idle(struct client_conn *k)
{
	k->call = NULL;
	k->state = CLIENT_IDLE;
	k->step.fire = idle_late;
	timer_set(&k->step, MASTER_IDLE_MS);
	calls_look();
}

/* The reply is whole. keep: nothing came behind it. */
static void client_done(struct client_conn *k, bool keep)
{
	struct http_call *c = k->call;
	bool sent = k->out.len == 0 && k->body_sent == c->body.n;

	trace_end(&k->trace, NULL);
	buf_reset(&k->out, true);
	buf_reset(&k->head, true);
	if (keep && sent && k->reply.keep_alive && k->tls.stream.state == TLS_OPEN)
		client_idle(k);
	else
		client_close(k);
	call_settle(c, HTTP_CALL_OK);
}

/* --- the request --- */

static void request_put(struct buf *b, const struct http_call *c)
{
	buf_printf(b, "%s %s%.*s HTTP/1.1\r\nHost: ", c->method, client_origin->prefix,
		SLICE(c->target));
	http_origin_put_host(client_origin, b);
	buf_puts(b, "\r\nUser-Agent: sandstorm-mcp/" SERVER_VERSION "\r\n"
		    "Accept: application/json\r\nAccept-Encoding: identity\r\n");
	buf_slice(b, c->fields);
	if (c->body.p)
		buf_puts(b, "Content-Type: application/json\r\n");
	if (c->body.p || strcmp(c->method, "POST") == 0)
		buf_printf(b, "Content-Length: %zu\r\n", c->body.n);
	buf_puts(b, "\r\n");
}

/* As much of s from *at on as is taken. True: all of it. */
static bool write_from(struct client_conn *k, struct slice s, size_t *at)
{
	size_t n = tls_write(&k->tls.stream, slice_from(s, *at));

	*at += n;
	k->call->sent = k->call->sent || n > 0;
	return *at == s.n;
}

static void request_write(struct client_conn *k)
{
	bool head = k->out_sent < k->out.len;

	if (head && write_from(k, buf_all(&k->out), &k->out_sent)) {
		k->out_sent = 0;
		buf_reset(&k->out, true); /* the tokens are in it */
		head = false;
	}
	if (!head && k->body_sent < k->call->body.n)
		write_from(k, k->call->body, &k->body_sent);
	tls_flush(&k->tls.stream);
}

static bool memory_open(struct client_conn *k)
{
	return buf_ready(&k->out, REQUEST_HEAD_MAX) && buf_ready(&k->head, HTTP_HEAD_MAX);
}

/* It is open: the request of its call goes out. */
static void client_ready(struct client_conn *k)
{
	struct http_call *c = k->call;

	timer_clear(&k->step);
	k->state = CLIENT_BUSY;
	k->out_sent = k->body_sent = 0;
	if (memory_open(k))
		request_put(&k->out, c);
	if (!k->head.max || k->out.failed) {
		client_fail(k, HTTP_CALL_MEMORY);
		return;
	}
	http_reply_init(&k->reply, &k->head);
	trace_request(&k->trace, buf_all(&k->out), c->fields, c->body);
	request_write(k);
}

/* --- the reply --- */

/* Cut to fit, once no secret that the master repeats is in it any more: never inside of one. */
static void text_keep(char *to, size_t size, const struct mask *m, struct slice s)
{
	struct buf b;

	buf_over(&b, to, size - 1);
	mask_put_body(m, &b, s);
	to[b.len] = '\0';
}

static void head_tell(struct client_conn *k)
{
	const struct http_reply *r = &k->reply;
	struct http_call *c = k->call;
	struct mask m = { .n = 0 };

	if (c->status || !r->status)
		return;
	mask_from(&m, c->fields);
	c->status = r->status;
	c->expected = r->length;
	trace_head(&k->trace, buf_all(&k->head));
	text_keep(c->type, sizeof(c->type), &m, r->type);
	text_keep(c->reason, sizeof(c->reason), &m, r->reason);
	text_keep(c->retry_after, sizeof(c->retry_after), &m, r->retry_after);
	text_keep(c->location, sizeof(c->location), &m, r->location);
}

static bool part_tell(struct client_conn *k, struct slice part)
{
	struct http_call *c = k->call;

	if (!part.n)
		return true;
	c->got += part.n;
	trace_part(&k->trace, part);
	return !c->part || c->part(c, part);
}

/* H8: only what changes nothing, only when the master may not have seen it. */
static bool may_go_again(const struct client_conn *k)
{
	const struct http_call *c = k->call;

	return k->reused && k->head.len == 0 &&
	       (strcmp(c->method, "GET") == 0 || strcmp(c->method, "DELETE") == 0);
}

/* The connection ended before the reply did, or with it. */
static void client_ended(struct client_conn *k)
{
	const struct tls_stream *t = &k->tls.stream;
	struct http_call *c = k->call;

	if (http_reply_end(&k->reply, t->state == TLS_CLOSED) == 1) {
		client_done(k, false);
	} else if (t->state == TLS_FAILED && t->error > 0) {
		client_fail(k, HTTP_CALL_TLS);
	} else if (may_go_again(k)) {
		trace_end(&k->trace, "this kept connection was closed, so once more on a new one");
		client_close(k);
		call_again(c);
	} else {
		client_fail(k, HTTP_CALL_CLOSED);
	}
}

static enum http_call_failure reply_failure(int e)
{
	return e == -ENOMEM ? HTTP_CALL_MEMORY : HTTP_CALL_INVALID;
}

static void reply_read(struct client_conn *k)
{
	struct slice in, part;
	size_t given;
	int e = 0;

	while (e == 0 && (in = tls_readable(&k->tls.stream)).n) {
		given = in.n;
		e = http_reply_take(&k->reply, &in, &part);
		if (e >= 0) {
			head_tell(k);
			if (!part_tell(k, part)) {
				client_fail(k, HTTP_CALL_STOPPED);
				return;
			}
		}
		tls_consumed(&k->tls.stream, given - in.n);
	}
	if (e < 0)
		client_fail(k, reply_failure(e));
	else if (e == 1)
		client_done(k, tls_readable(&k->tls.stream).n == 0);
	else if (k->tls.stream.state != TLS_OPEN)
		client_ended(k);
}

/* --- between two calls --- */

/* What the kernel has for us is either the end of the connection or what nobody asked for. */
bool client_usable(const struct client_conn *k)
{
	char c;

	return k->tls.stream.state == TLS_OPEN && tls_readable(&k->tls.stream).n == 0 &&
	       recv(k->tls.stream.watch.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void client_take(struct client_conn *k, struct http_call *c)
{
	k->call = c;
	c->conn = k;
	k->reused = true;
	client_ready(k);
}

static void handshake_step(struct client_conn *k)
{
	const struct tls_stream *t = &k->tls.stream;

	if (t->state == TLS_OPEN)
		client_ready(k);
	else if (t->state != TLS_HANDSHAKE)
		client_fail(k,
			t->state == TLS_FAILED && t->error > 0 ? HTTP_CALL_TLS : HTTP_CALL_CLOSED);
}

void client_changed(struct tls_stream *t)
{
	struct client_conn *k = container_of(t, struct client_conn, tls.stream);

	if (k->state == CLIENT_HANDSHAKE) {
		handshake_step(k);
	} else if (k->state == CLIENT_BUSY) {
		if (t->state == TLS_OPEN)
			request_write(k);
		reply_read(k);
	} else if (!client_usable(k)) {
		client_close(k);
	}
}
