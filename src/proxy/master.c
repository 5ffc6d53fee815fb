#include "proxy/master.h"

#include <errno.h>

#include "bounds.h"

enum { TICK_MS = 5 * 1000 };

static struct master_config config;

void master_setup(const struct master_config *c)
{
	config = *c;
}

const struct master_config *master_config(void)
{
	return &config;
}

/* --- the state --- */

void master_cleanup(struct job *j)
{
	struct master_call *c = j->state;

	master_abort(c);
	buf_release(&c->text);
}

void *master_new(struct job *j, size_t size)
{
	struct master_call *c = job_state(j, size);

	if (!c) {
		tool_fail(j, "no memory for the call: the server's budget is used up");
		return NULL;
	}
	c->job = j;
	c->mark = j->mem.len;
	j->cleanup = master_cleanup;
	return c;
}

void master_forget(struct master_call *c)
{
	buf_cut(&c->job->mem, c->mark);
}

void master_keep(struct master_call *c)
{
	c->mark = c->job->mem.len;
}

struct slice master_hold(struct master_call *c, struct slice text)
{
	struct buf *mem = &c->job->mem;
	size_t at;

	master_forget(c);
	at = mem->len;
	if (!text.n || !buf_room(mem, text.n))
		return (struct slice){ 0 };
	memmove(mem->p + at, text.p, text.n); /* it may have been there, a bit higher */
	c->mark = mem->len += text.n;
	return (struct slice){ mem->p + at, text.n };
}

/* --- the reply arrives --- */

static bool status_ok(const struct http_call *h)
{
	return h->status >= 200 && h->status < 300;
}

static struct master_call *call_of(struct http_call *h)
{
	return container_of(h, struct master_call, http);
}

static void keep_head(struct master_call *c, struct slice bytes)
{
	bytes = slice_head(bytes, sizeof(c->head) - c->head_len);
	memcpy(c->head + c->head_len, bytes.p, bytes.n);
	c->head_len += bytes.n;
}

/* Of the body of an error the beginning is enough. */
static bool keep_error(struct master_call *c, struct slice bytes)
{
	buf_slice(&c->text, slice_head(bytes, ERROR_BODY_MAX - c->text.len));
	return c->text.len < ERROR_BODY_MAX;
}

static bool call_part(struct http_call *h, struct slice bytes)
{
	struct master_call *c = call_of(h);

	if (!status_ok(h))
		return keep_error(c, bytes);
	keep_head(c, bytes);
	c->fault = shrink_feed(&c->shrink, bytes);
	return c->fault == 0;
}

static void call_done(struct http_call *h)
{
	struct master_call *c = call_of(h);

	timer_clear(&c->tick);
	c->took_ms = loop_now() - c->began;
	if (h->failure == HTTP_CALL_OK && status_ok(h) && h->got > 0)
		c->fault = shrink_end(&c->shrink);
	c->ok = h->failure == HTTP_CALL_OK && status_ok(h) && c->fault == 0;
	job_wake(c->job);
}

void master_abort(struct master_call *c)
{
	timer_clear(&c->tick);
	http_call_abort(&c->http);
}

static void call_cancel(struct job *j)
{
	master_abort(j->state);
	job_wake(j);
}

/* --- progress --- */

static void put_waiting(const struct master_call *c, struct buf *b)
{
	buf_printf(b, "waiting for the master's answer to %s", c->job->tool->name);
}

static void tick(struct timer *t)
{
	struct master_call *c = container_of(t, struct master_call, tick);
	char mem[PROGRESS_TEXT_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (c->put_progress)
		c->put_progress(c->job, &b);
	else
		put_waiting(c, &b);
	tool_progress(c->job, loop_now() - c->job->started, 0, buf_all(&b));
	timer_set(t, TICK_MS);
}

/* A tick of the last call that is still to come stays where it is. */
static void tick_start(struct master_call *c)
{
	struct job *j = c->job;
	int64_t told = j->progress_last ? j->progress_last : j->started;

	if (!tool_wants_progress(j))
		return;
	c->tick.fire = tick;
	timer_set(&c->tick, told + TICK_MS > loop_now() ? told + TICK_MS - loop_now() : 0);
}

/* --- sending --- */

/* Target and fields, behind the body in the job's memory. */
static bool put_head(struct master_call *c)
{
	struct buf *mem = &c->job->mem;
	const struct request *q = &c->request;
	size_t at = mem->len;

	request_put_target(mem, q->route, q->id);
	c->http.target = buf_since(mem, at);
	at = mem->len;
	request_put_fields(mem, q->route, q->token);
	c->http.fields = buf_since(mem, at);
	return !mem->failed;
}

static bool room_for_reply(struct master_call *c)
{
	size_t most = c->request.most + shrink_room(c->request.keep);

	if (c->text.max < most) {
		buf_release(&c->text);
		if (buf_reserve(&c->text, most) < 0)
			return false;
	}
	buf_reset(&c->text, true);
	shrink_init(&c->shrink, &c->text, c->request.keep, c->request.most);
	return true;
}

static bool may_take_long(enum route_limit l)
{
	return l == LIMIT_EXEC || l == LIMIT_EVAL || l == LIMIT_SLOW || l == LIMIT_SPAWN;
}

enum step master_send(
	struct master_call *c, const struct request *q, enum step (*next)(struct job *j))
{
	struct job *j = c->job;

	c->request = *q;
	c->http = (struct http_call){
		.method = q->route->method,
		.body = q->body,
		.limit_ms = q->limit_ms,
		.brief = !may_take_long(q->route->limit),
		.part = call_part,
		.done = call_done,
	};
	c->fault = 0;
	c->head_len = 0;
	c->ok = false;
	c->began = loop_now();
	if (!room_for_reply(c) || !put_head(c))
		return tool_fail(j, "no memory for the call: the server's budget is used up");
	j->cancel = call_cancel;
	tick_start(c);
	http_call_start(&c->http);
	return job_wait(j, next);
}

enum step master_forward(struct job *j, size_t size, enum step (*next)(struct job *j))
{
	struct master_call *c;
	struct request q;

	if (!request_args_ok(j))
		return STEP_DONE;
	c = master_new(j, size);
	if (!c)
		return STEP_DONE;
	request_make(j, &q);
	return master_send(c, &q, next);
}
