#include "front/session_job.h"

#include <errno.h>

#include "base/log.h"
#include "front/cidr.h"
#include "front/gate.h"
#include "front/origin.h"

enum { FIELDS_MAX = 1 * KIB };

static const char json_type_name[] = "application/json";

/* --- the answer --- */

void session_reply(struct job *j, int status)
{
	session_call(j)->status = status;
	buf_cut(&j->out, 0);
	jw_init(&j->w, &j->out);
	jw_object(&j->w, NULL);
}

enum step session_reply_end(struct job *j)
{
	jw_close(&j->w);
	return STEP_DONE;
}

enum step session_fail(struct job *j, int status, const char *fmt, ...)
{
	va_list ap;

	session_reply(j, status);
	va_start(ap, fmt);
	jw_vprintf(&j->w, "error", fmt, ap);
	va_end(ap);
	return session_reply_end(j);
}

enum step session_fail_errno(struct job *j, const char *text, int err)
{
	bool full = err == -ENOSPC || err == -EDQUOT;

	return session_fail(j, full ? 507 : 500, "%s: %s", text, strerror(-err));
}

/* The head goes where the request's text was: nobody needs that any more. */
static void send_reply(struct job *j)
{
	struct session_call *c = session_call(j);
	char mem[FIELDS_MAX + 64];
	struct slice parts[2];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	buf_slice(&fields, c->fields);
	if (c->retry_s > 0)
		buf_printf(&fields, "Retry-After: %lld\r\n", (long long)c->retry_s);
	buf_cut(&j->text, 0);
	http_put_head(c->conn, &j->text, c->status, json_type_name, buf_all(&fields),
		(int64_t)j->out.len);
	parts[0] = buf_all(&j->text);
	parts[1] = buf_all(&j->out);
	http_send(c->conn, parts, 2);
}

static void sink_reply(struct job *j)
{
	if (session_call(j)->conn)
		send_reply(j);
	else
		job_free(j);
}

static const struct sink sink = { .reply = sink_reply };

static void log_call(struct job *j)
{
	const struct session_call *c = session_call(j);
	char mem[64];
	struct buf client;
	struct log_field fields[] = {
		{ "call", slice_of(c->name) },
		{ "session", c->id },
		{ "status", .number = c->status },
		{ "ms", .number = loop_now() - j->started },
		{ "bytes", .number = (int64_t)j->out.len },
		{ "peer" },
		{ 0 },
	};

	buf_over(&client, mem, sizeof(mem));
	address_put(&client, c->client);
	fields[5].text = buf_all(&client);
	log_event(LOG_INFO, j->muted ? "session call cancelled" : "session call", fields);
}

/* The call is over, in whatever way. */
static void finish(struct job *j)
{
	mem_overdraft(true);
	if (j->stopped && !session_call(j)->status)
		session_fail(j, 503, "Server is stopping");
	if (j->out.failed)
		session_fail(j, 503, "The answer does not fit into the server's memory");
	mem_overdraft(false);
	log_call(j);
	j->sink->reply(j);
}

/* --- what the connection tells --- */

/* A client that is gone looks like one that has said all it wants to. */
static bool waiter_gone(struct http_conn *conn, bool closed)
{
	struct job *j = http_user(conn);
	struct session_call *c = session_call(j);

	(void)closed;
	c->conn = NULL;
	if (!c->goes_on)
		job_abandon(j);
	return false;
}

static void waiter_sent(struct http_conn *conn)
{
	job_free(http_user(conn));
}

static void waiter_quiet(struct http_conn *conn)
{
	(void)conn; /* one status and one body: there is nothing to say before they are known */
}

static const struct http_waiter waiter = { waiter_gone, waiter_sent, waiter_quiet };

/* --- the beginning --- */

static struct slice kept(struct job *j, struct slice s)
{
	char *p = buf_alloc(&j->mem, s.n + 1);

	if (!p)
		return (struct slice){ 0 };
	memcpy(p, s.p, s.n);
	return (struct slice){ p, s.n };
}

static struct session_call *call_new(struct job *j, struct http_request *r)
{
	struct session_call *c = buf_alloc(&j->mem, sizeof(*c));
	char mem[FIELDS_MAX];
	struct buf fields;

	if (!c)
		return NULL;
	buf_over(&fields, mem, sizeof(mem));
	buf_puts(&fields, "Cache-Control: no-store\r\n");
	gate_fields(r->head, &fields);
	c->conn = r->conn;
	c->fields = kept(j, buf_all(&fields));
	origin_client(r->head, http_peer(r->conn), c->client);
	http_take_body(r, &j->text);
	j->peer = c;
	return j->mem.failed || j->text.failed ? NULL : c;
}

static int parse(struct job *j)
{
	int r;

	if (j->text.len == 0)
		return 0;
	r = json_parse(&j->doc, j->text.p, j->text.len, &j->mem);
	if (r < 0)
		j->doc.n = 0;
	session_call(j)->bad_json = r < 0 && r != -ENOMEM;
	return r == -ENOMEM ? r : 0;
}

static void refuse_busy(struct http_request *r)
{
	gate_refuse(r, 503, LIT("Retry-After: 1\r\n"), "Server is busy, try again");
}

void session_job_run(
	struct http_request *r, const char *name, struct slice id, enum step (*run)(struct job *j))
{
	struct job *j = job_new(&sink, NULL);
	struct session_call *c = j ? call_new(j, r) : NULL;

	if (c) {
		c->name = name;
		c->id = kept(j, id);
	}
	if (!c || parse(j) < 0) {
		refuse_busy(r);
		if (j)
			job_free(j);
		return;
	}
	j->finish = finish;
	http_wait(r->conn, &waiter, j);
	if (c->bad_json)
		job_stepped(j, session_fail(j, 400, "Invalid JSON"));
	else
		job_stepped(j, run(j));
}
