/* Calls: their deadlines, the queue, which connection a call gets. */
#include "http/client.h"

#include <errno.h>

#include "base/str.h"
#include "http/client_conn.h"
#include "http/field.h"

const struct http_origin *client_origin;
struct tls_peer client_peer;

static struct client_conn conns[MASTER_CONNS];
static struct http_call *first, **last = &first; /* calls without a connection, in order */

static void calls_run(struct task *t);
static struct task look = { .run = calls_run };

void http_client_setup(const struct http_origin *o, const struct tls_roots *roots)
{
	client_origin = o;
	client_peer = (struct tls_peer){ .host = o->host, .roots = roots };
}

unsigned http_client_connections(void)
{
	unsigned n = 0;

	for (int i = 0; i < MASTER_CONNS; i++)
		n += conns[i].state != CLIENT_FREE;
	return n;
}

/* --- the queue --- */

void calls_look(void)
{
	loop_defer(&look);
}

static void queue_put(struct http_call *c)
{
	c->waiting = true;
	c->next = NULL;
	*last = c;
	last = &c->next;
	calls_look();
}

static void queue_remove(struct http_call *c)
{
	struct http_call **at = &first;

	if (!c->waiting)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (last == &c->next)
		last = at;
	c->waiting = false;
}

void call_again(struct http_call *c)
{
	c->conn = NULL;
	c->again = true;
	c->waiting = true;
	c->next = first;
	first = c;
	if (last == &first)
		last = &c->next;
	calls_look();
}

/* --- which connection --- */

static int long_calls(void)
{
	int n = 0;

	for (int i = 0; i < MASTER_CONNS; i++)
		n += conns[i].call && !conns[i].call->brief;
	return n;
}

static struct client_conn *conn_in(enum client_phase state)
{
	for (int i = 0; i < MASTER_CONNS; i++)
		if (conns[i].state == state)
			return &conns[i];
	return NULL;
}

/*
 * An idle connection that can be used, else a slot to open one in. *idle tells which. NULL: the
 * call has to wait. Idle connections that cannot be used are closed on the way.
 */
static struct client_conn *conn_for(const struct http_call *c, bool *idle)
{
	struct client_conn *k;

	if (!c->brief && long_calls() >= MASTER_CONNS - MASTER_CONNS_KEPT)
		return NULL;
	while (!c->again && (k = conn_in(CLIENT_IDLE))) {
		*idle = client_usable(k);
		if (*idle)
			return k;
		client_close(k);
	}
	*idle = false;
	k = conn_in(CLIENT_FREE);
	if (!k && (k = conn_in(CLIENT_IDLE)))
		client_close(k);
	return k;
}

/* Gives a waiting call its connection; false: none of them can have one now. */
static bool call_run(void)
{
	struct client_conn *k;
	struct http_call *c;
	bool idle;

	for (c = first; c; c = c->next) {
		k = conn_for(c, &idle);
		if (!k)
			continue;
		queue_remove(c);
		if (idle)
			client_take(k, c);
		else
			client_open(k, c);
		return true;
	}
	return false;
}

/* A path as it stands: nothing in it leads out of the place it names (H4). */
static bool target_good(struct slice target)
{
	struct slice path = str_split(&target, '?'), part;

	if (!http_is_target(path) || path.p[0] != '/' || (target.n && !http_is_target(target)))
		return false;
	while (path.n) {
		part = str_split(&path, '/');
		if (slice_is(part, ".") || slice_is(part, ".."))
			return false;
	}
	return true;
}

/* What cannot even be sent; HTTP_CALL_OK: nothing. */
static enum http_call_failure call_fault(const struct http_call *c)
{
	if (!client_peer.roots)
		return HTTP_CALL_TLS;
	if (c->body.n > REQUEST_BODY_MAX || c->fields.n + c->target.n > REQUEST_HEAD_MAX / 2)
		return HTTP_CALL_REQUEST;
	return target_good(c->target) ? HTTP_CALL_OK : HTTP_CALL_REQUEST;
}

/* Looks anew after each step: whatever done() did may have changed the queue. */
static bool faulty_settled(void)
{
	for (struct http_call *c = first; c; c = c->next) {
		enum http_call_failure fault = call_fault(c);

		if (fault == HTTP_CALL_OK)
			continue;
		call_say(c, NULL, fault);
		call_settle(c, fault);
		return true;
	}
	return false;
}

static void calls_run(struct task *t)
{
	(void)t;
	while (faulty_settled())
		;
	while (call_run())
		;
}

/* --- calls --- */

static void call_late(struct timer *t)
{
	struct http_call *c = container_of(t, struct http_call, limit);
	struct client_conn *k = c->conn;

	if (k && k->state == CLIENT_RESOLVE) {
		k->names.err = -ETIMEDOUT;
		client_fail(k, HTTP_CALL_RESOLVE);
	} else if (k) {
		client_fail(k, HTTP_CALL_TIMEOUT);
	} else {
		call_say(c, NULL, HTTP_CALL_TIMEOUT);
		call_settle(c, HTTP_CALL_TIMEOUT);
	}
}

void http_call_start(struct http_call *c)
{
	c->status = 0;
	c->type[0] = c->reason[0] = c->retry_after[0] = c->location[0] = c->text[0] = '\0';
	c->got = 0;
	c->expected = -1;
	c->failure = HTTP_CALL_OK;
	c->sent = c->again = false;
	c->phase = NULL;
	c->conn = NULL;
	c->began = loop_now();
	c->limit.fire = call_late;
	timer_set(&c->limit, c->limit_ms);
	queue_put(c);
}

void call_settle(struct http_call *c, enum http_call_failure failure)
{
	timer_clear(&c->limit);
	queue_remove(c);
	c->conn = NULL;
	c->failure = failure;
	if (failure != HTTP_CALL_OK && !c->sent)
		trace_unsent(c->method, c->target, c->text);
	c->done(c);
}

void http_call_abort(struct http_call *c)
{
	timer_clear(&c->limit);
	queue_remove(c);
	if (c->conn)
		client_close(c->conn);
	c->conn = NULL;
}

void http_call_put_failure(const struct http_call *c, struct buf *b)
{
	buf_puts(b, c->text);
}
