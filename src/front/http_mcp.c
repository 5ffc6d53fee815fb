#include "front/http_mcp.h"

#include "base/str.h"
#include "front/cidr.h"
#include "front/gate.h"
#include "front/header_text.h"
#include "front/origin.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"

/* One request and its answer, in the job's memory. */
struct exchange {
	struct http_conn *conn;       /* NULL once the client is gone */
	const struct http_head *head; /* NULL once the message has been started */
	struct slice fields;          /* for a stream */
	struct slice plain_fields;    /* for any other answer */
	unsigned char client[16];     /* its address */
	bool stream_ok, json_ok;      /* what the client accepts */
	bool modern;
};

static const char json_type_name[] = "application/json";
static const char stream_type[] = "text/event-stream";

/* Proxies must neither keep nor collect what is sent bit by bit. */
#define STREAM_FIELDS "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n"

/* --- answers --- */

/* Status by what was answered (mcp.md section 7 of the design). */
static int answer_status(const struct job *j)
{
	switch (j->error) {
	case 0:
	case RPC_INTERNAL: /* with another status some clients show the transport's error instead */
		return 200;
	case RPC_NO_METHOD:
		return j->era->modern ? 404 : 200;
	case RPC_PARAMS:
		return j->malformed ? 400 : 200;
	default:
		return 400;
	}
}

/* A batch has no error of its own unless it was refused whole. */
static bool is_error(const struct job *j)
{
	return j->error && j->batch_at < 0;
}

static bool wants_stream(const struct job *j, const struct exchange *x)
{
	if (http_streaming(x->conn))
		return true;
	if (is_error(j) || !x->stream_ok)
		return false;
	return !x->json_ok || memchr(j->out.p, '\n', j->out.len);
}

/* Each line of out is a message: an event each, the last of which ends the stream. */
static void send_stream(struct job *j, const struct exchange *x)
{
	struct slice parts[HTTP_PARTS_MAX - 1], rest = buf_all(&j->out);
	int n = 0;

	while (rest.n && n + 3 < HTTP_PARTS_MAX) {
		parts[n++] = LIT("event: message\ndata: ");
		parts[n++] = str_split(&rest, '\n');
		parts[n++] = LIT("\n\n");
	}
	http_stream_end(x->conn, stream_type, x->fields, parts, n);
}

/* The head goes where the request's text was: nobody needs that any more, and it lives until all is
 * sent. */
static void send_json(struct job *j, const struct exchange *x)
{
	struct slice parts[2], all = buf_all(&j->out), line = all;

	while (all.n) /* a client that takes no stream gets the result alone */
		line = str_split(&all, '\n');
	buf_cut(&j->text, 0);
	http_put_head(x->conn, &j->text, is_error(j) ? answer_status(j) : 200, json_type_name,
		x->plain_fields, (int64_t)line.n);
	parts[0] = buf_all(&j->text);
	parts[1] = line;
	http_send(x->conn, parts, 2);
}

static void sink_reply(struct job *j)
{
	struct exchange *x = j->peer;

	if (!x->conn) {
		job_free(j);
	} else if (!j->out.len && !http_streaming(x->conn)) {
		http_answer(x->conn, 202, NULL, x->plain_fields, (struct slice){ 0 });
		job_free(j);
	} else if (wants_stream(j, x)) {
		send_stream(j, x);
	} else {
		send_json(j, x);
	}
}

static void sink_event(struct job *j, struct slice message)
{
	const struct exchange *x = j->peer;
	char mem[5 * KIB];
	struct buf b;

	if (!x->conn || !x->stream_ok)
		return;
	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "event: message\ndata: %.*s\n\n", SLICE(message));
	if (!b.failed)
		http_stream(x->conn, stream_type, x->fields, buf_all(&b));
}

/* --- the head against the body (mcp.md sections 8.3 and 8.4) --- */

static bool header_fails(struct job *j, const char *name, const char *why)
{
	rpc_error(j, RPC_HEADER, "Header mismatch: %s %s", name, why);
	return false;
}

static bool check_version(struct job *j, struct slice version)
{
	const struct exchange *x = j->peer;
	struct slice field = x->head->field[FIELD_MCP_VERSION];

	if (!field.p)
		return header_fails(j, "MCP-Protocol-Version", "is missing");
	if (!slice_eq(field, version))
		return header_fails(j, "MCP-Protocol-Version", "differs from the one in _meta");
	return true;
}

/* Mcp-Name repeats the name of what is asked for; it may be encoded. */
static bool check_name(struct job *j, struct slice method)
{
	const struct exchange *x = j->peer;
	struct slice field = x->head->field[FIELD_MCP_NAME];
	const char *member = slice_is(method, "resources/read") ? "uri" : "name";
	char mem[1 * KIB];
	struct buf plain;

	if (!slice_is(method, "tools/call") && !slice_is(method, "prompts/get") &&
		!slice_is(method, "resources/read"))
		return true;
	buf_over(&plain, mem, sizeof(mem));
	if (!field.p)
		return header_fails(j, "Mcp-Name", "is missing");
	if (!header_text(field, &plain))
		return header_fails(j, "Mcp-Name", "is not well encoded");
	if (!json_str_eq(&j->doc, json_get(&j->doc, j->params, member), buf_all(&plain)))
		return header_fails(j, "Mcp-Name", "differs from params");
	return true;
}

static bool check_modern(struct job *j, struct slice method)
{
	const struct exchange *x = j->peer;
	struct slice field = x->head->field[FIELD_MCP_METHOD];

	if (!field.p)
		return header_fails(j, "Mcp-Method", "is missing");
	if (!slice_eq(field, method))
		return header_fails(j, "Mcp-Method", "differs from method");
	return check_name(j, method);
}

static bool check_method(struct job *j, struct slice method)
{
	const struct exchange *x = j->peer;
	struct slice field = x->head ? x->head->field[FIELD_MCP_VERSION] : (struct slice){ 0 };

	if (!x->head) /* a later message of a batch: the head was judged with the first */
		return true;
	if (j->era->modern)
		return check_modern(j, method);
	if (!field.p || slice_is(method, "initialize") || era_find(field))
		return true;
	rpc_error(j, RPC_INVALID, "Unsupported MCP-Protocol-Version: %.*s",
		SLICE(slice_head(field, NAME_SHOWN_MAX)));
	return false;
}

static void put_client(const struct job *j, struct buf *b)
{
	const struct exchange *x = j->peer;

	address_put(b, x->client);
}

static const struct sink sink = {
	.put_client = put_client,
	.event = sink_event,
	.reply = sink_reply,
	.check_version = check_version,
	.check_method = check_method,
};

/* --- what the connection tells --- */

static void waiter_quiet(struct http_conn *c)
{
	const struct job *j = http_user(c);
	const struct exchange *x = j->peer;

	if (x->stream_ok)
		http_stream(c, stream_type, x->fields, LIT(": \n\n"));
}

/*
 * Modern: a closed stream cancels. Legacy: the work runs to its own limit, the answer is dropped
 * (decision 4), but what only waits is of no use to anybody and has something to clean up. Whether
 * a legacy client is gone or will only send no more, a word to it finds out; one that takes no
 * stream cannot be asked and counts as gone.
 */
static bool waiter_gone(struct http_conn *c, bool closed)
{
	struct job *j = http_user(c);
	struct exchange *x = j->peer;
	bool waits = j->tool && (j->tool->flags & TOOL_WAITS);

	if (!closed && !x->modern && (!waits || x->stream_ok)) {
		if (waits)
			waiter_quiet(c);
		return true;
	}
	x->conn = NULL;
	if (x->modern || waits)
		job_abandon(j);
	return false;
}

static void waiter_sent(struct http_conn *c)
{
	job_free(http_user(c));
}

static const struct http_waiter waiter = { waiter_gone, waiter_sent, waiter_quiet };

/* --- a POST --- */

static struct slice answer_fields(struct job *j, const struct http_head *h)
{
	struct buf b = { 0 };
	size_t size = 1 * KIB;
	char *mem = buf_alloc(&j->mem, size);

	if (!mem)
		return (struct slice){ 0 };
	buf_over(&b, mem, size);
	buf_puts(&b, STREAM_FIELDS);
	gate_fields(h, &b);
	return buf_all(&b);
}

static struct exchange *exchange_new(struct job *j, struct http_request *r)
{
	const struct http_head *h = r->head;
	struct slice version = h->field[FIELD_MCP_VERSION];
	struct exchange *x = buf_alloc(&j->mem, sizeof(*x));

	if (!x)
		return NULL;
	j->modern = version.p && slice_is(version, era_modern()->version);
	j->era = version.p ? era_find(version) : era_find(LIT("2025-03-26"));
	if (!j->era || j->era->modern)
		j->era = era_legacy();
	j->batch_ok = !version.p || slice_is(version, "2025-03-26");
	*x = (struct exchange){ .conn = r->conn, .head = h, .modern = j->modern };
	x->stream_ok = h->accept & ACCEPT_SSE;
	x->json_ok = h->accept & ACCEPT_JSON;
	origin_client(h, http_peer(r->conn), x->client);
	x->fields = answer_fields(j, h);
	if (x->fields.n)
		x->plain_fields = slice_from(x->fields, sizeof(STREAM_FIELDS) - 1);
	j->peer = x;
	return x;
}

static void serve_busy(struct http_request *r)
{
	static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,"
				   "\"message\":\"Server is busy, try again\"}}";

	gate_answer(r, 503, json_type_name, LIT("Retry-After: 1\r\n"), LIT(body));
}

static void serve_post(struct http_request *r)
{
	struct job *j = job_new(&sink, NULL);
	struct exchange *x = j ? exchange_new(j, r) : NULL;

	if (x)
		http_take_body(r, &j->text);
	if (!x || j->text.failed) {
		serve_busy(r);
		if (j)
			job_free(j);
		return;
	}
	http_wait(r->conn, &waiter, j);
	rpc_start(j);
	/* The job may be gone by now; if it is not, it must not look at the head again. */
	if (j->used && j->peer == x)
		x->head = NULL;
}

void http_mcp_serve(struct http_request *r)
{
	if (r->head->method != HTTP_POST)
		gate_refuse(r, 405, LIT("Allow: POST\r\n"),
			"Method not allowed: send messages with POST");
	else if (!gate_is_json(r->head))
		gate_refuse(r, 415, (struct slice){ 0 }, "Content-Type must be application/json");
	else if (!r->head->accept)
		gate_refuse(r, 406, (struct slice){ 0 },
			"Accept must admit application/json or text/event-stream");
	else
		serve_post(r);
}
