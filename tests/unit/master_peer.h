/*
 * The sandbox tools behind a client (peer.h) and before a master that is a list of replies: the
 * functions of http/client.h are played here, so that nothing goes over a network and time flies.
 */
#ifndef MASTER_PEER_H
#define MASTER_PEER_H

#include "fly.h"
#include "peer.h"

#include "proxy/master.h"
#include "proxy/proxy.h"

/* One reply, to whichever request comes next. */
struct play {
	int status;
	const char *body; /* NULL: none */
	const char *type; /* NULL: application/json */
	enum http_call_failure failure;
	int64_t after_ms; /* NEVER: until the call's own limit */
	const char *retry_after, *location;
};

enum { NEVER = -1, PIECE = 7 };

static const struct play *plays; /* the ones to come, ended by status 0 without failure */
static char requests[64 * KIB];  /* "METHOD TARGET BODY" a line, or what note_fields adds */
static bool note_fields;
static int aborted, under_way;
static int64_t limit_of_last;

static inline void note(const char *fmt, ...)
{
	size_t n = strlen(requests);
	struct buf b;
	va_list ap;

	buf_over(&b, requests + n, sizeof(requests) - n - 1);
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	assert_false(b.failed);
	requests[n + b.len] = '\0';
}

static inline bool play_body(struct http_call *c, struct slice body)
{
	while (body.n && c->part) {
		struct slice part = slice_head(body, PIECE);

		c->got += part.n;
		if (!c->part(c, part))
			return false;
		body = slice_from(body, part.n);
	}
	return true;
}

static inline void copy_text(char *to, size_t size, const char *from)
{
	assert_true(strlen(from ? from : "") < size);
	strcpy(to, from ? from : "");
}

static inline void play_reply(struct timer *t)
{
	struct http_call *c = container_of(t, struct http_call, limit);
	const struct play *p = (const struct play *)c->next;
	static const char *const reasons[] = {
		[2] = "OK", [3] = "Found", [4] = "Bad", [5] = "Worse"
	};

	under_way--;
	c->failure = p->after_ms == NEVER ? HTTP_CALL_TIMEOUT : p->failure;
	if (c->failure != HTTP_CALL_OK) {
		copy_text(c->text, sizeof(c->text), "it did not work");
		c->done(c);
		return;
	}
	c->status = p->status;
	copy_text(c->type, sizeof(c->type), p->type ? p->type : "application/json");
	copy_text(c->reason, sizeof(c->reason), reasons[p->status / 100]);
	copy_text(c->retry_after, sizeof(c->retry_after), p->retry_after);
	copy_text(c->location, sizeof(c->location), p->location);
	if (!play_body(c, slice_of(p->body ? p->body : "")))
		c->failure = HTTP_CALL_STOPPED;
	c->done(c);
}

void http_call_start(struct http_call *c)
{
	assert_true(plays->status || plays->failure || plays->after_ms);
	note("%s %.*s %.*s\n", c->method, SLICE(c->target), SLICE(c->body));
	if (note_fields)
		note("%.*s", SLICE(c->fields));
	c->sent = true;
	c->limit.fire = play_reply;
	c->next = (struct http_call *)plays; /* the one field that is nobody else's here */
	limit_of_last = c->limit_ms;
	timer_set(&c->limit, plays->after_ms == NEVER ? c->limit_ms : plays->after_ms);
	plays++;
	under_way++;
}

void http_call_abort(struct http_call *c)
{
	if (!c->limit.set)
		return;
	timer_clear(&c->limit);
	under_way--;
	aborted++;
}

void http_client_setup(const struct http_origin *o, const struct tls_roots *roots)
{
	(void)o, (void)roots;
}

/* --- what a test does --- */

#define API_TOKEN "api-token-0123456789"
#define BOX_TOKEN "box-token-9876543210"

static inline int master_begin(void **state)
{
	int r = peer_start(state);

	time_fly();
	return r;
}

static inline void master_with(const char *token, size_t max_output)
{
	struct master_config c = {
		.token = slice_of(token),
		.http_timeout_ms = 60 * 1000,
		.start_timeout_ms = 1000,
		.max_output = max_output,
	};

	master_setup(&c);
}

static inline int master_new_client(void **state)
{
	static const struct toolset sets[2] = { { 0 } };
	struct toolset here[2] = { sandbox_toolset, sets[1] };
	struct slice bad;

	requests[0] = '\0';
	note_fields = false;
	aborted = under_way = 0;
	plays = NULL;
	routes_reset();
	master_with(API_TOKEN, 64 * KIB);
	return peer_new(state) || tools_choose(here, "sandbox", false, &bad);
}

#define PLAYS(...)                                                                                 \
	plays = (const struct play[])                                                              \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

#define CALL_OF(tool, args)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool     \
	"\",\"arguments\":" args "}}"

/* The text of the one block, as the client reads it, behind "! " when it is an error. */
static inline const char *text_of(const char *answer)
{
	static char text[256 * KIB];
	static struct buf copy, mem;
	struct slice s;
	struct json d;
	struct buf b;
	int result, block;

	if (!copy.p) {
		copy = unit_buf(sizeof(heard));
		mem = unit_buf(8 * MIB);
	}
	buf_reset(&copy, true);
	buf_reset(&mem, true);
	buf_puts(&copy, answer);
	assert_int_equal(json_parse(&d, copy.p, copy.len, &mem), 0);
	result = json_get(&d, 0, "result");
	assert_true(result >= 0);
	block = json_get(&d, result, "content");
	assert_int_equal(json_count(&d, block), 1);
	assert_int_equal(json_str(&d, json_get(&d, json_first(&d, block), "text"), &s), 0);
	buf_over(&b, text, sizeof(text) - 1);
	if (json_type(&d, json_get(&d, result, "isError")) == JSON_TRUE)
		buf_puts(&b, "! ");
	buf_slice(&b, s);
	assert_false(b.failed);
	text[b.len] = '\0';
	return text;
}

/* What the tool says to that, and what the master was asked for it. */
#define says(tool, args, text) assert_string_equal(text_of(ask(CALL_OF(tool, args))), text)
#define fails(tool, args, text)                                                                    \
	assert_string_equal(                                                                       \
		text_of(ask(CALL_OF(tool, args))), "! Error executing tool " tool ": " text)

#define CANCEL                                                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                         \
	"cancelled\",\"params\":{\"requestId\":1}}"

/* Answers stop the loop as well. */
static inline void run_for(int64_t ms)
{
	struct timer t = { .fire = turn_over };

	for (timer_set(&t, ms); t.set;)
		loop_run();
}

static inline void asked_for(const char *lines)
{
	assert_string_equal(requests, lines);
	requests[0] = '\0';
}

#endif
