/*
 * Whatever a master answers, to whichever sandbox tool, in however many replies: the call ends, its
 * answer is JSON, no error holds the API token, and no request goes where the arguments do not say.
 * The input: a tool, then replies to the requests as they come, each a status, a length, a body.
 */
#include "fuzz.h"

#include "base/log.h"
#include "bounds.h"
#include "http/field.h"
#include "json/json_check.h"
#include "mcp/methods.h"
#include "mcp/rpc.h"
#include "proxy/master.h"
#include "proxy/proxy.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define API_TOKEN "fuzz-api-token-0123456789"
#define BOX_TOKEN "fuzz-box-token-9876543210"

enum { REQUESTS_MAX = 200, CALLS_MAX = 16, TURNS_MAX = 100 };

static struct slice input;
static struct http_call *calls[CALLS_MAX]; /* under way */
static int requests, answers;
static bool with_token; /* the call has BOX_TOKEN */

/* --- the master --- */

static unsigned byte(void)
{
	unsigned b = input.n ? (unsigned char)input.p[0] : 0;

	input = slice_from(input, input.n > 0);
	return b;
}

static struct slice bytes(size_t n)
{
	struct slice s = slice_head(input, n);

	input = slice_from(input, s.n);
	return s;
}

void http_call_start(struct http_call *c)
{
	int i = 0;

	MUST(++requests <= REQUESTS_MAX);
	MUST(http_is_target(c->target) && c->target.p[0] == '/');
	MUST(c->limit_ms > 0);
	while (calls[i])
		MUST(++i < CALLS_MAX);
	calls[i] = c;
	c->sent = true;
}

void http_call_abort(struct http_call *c)
{
	for (int i = 0; i < CALLS_MAX; i++)
		if (calls[i] == c)
			calls[i] = NULL;
}

void http_client_setup(const struct http_origin *o, const struct tls_roots *roots)
{
	(void)o, (void)roots;
}

static void reply(struct http_call *c)
{
	static const int statuses[] = { 200, 201, 204, 200, 400, 401, 404, 422, 429, 500, 302,
		405 };
	static const char *const types[] = { "application/json", "text/plain", "", "text/html" };
	unsigned kind = byte(), size = byte(), piece = 1 + kind % 13;
	struct slice body = bytes(size << (kind & 3)), part;

	c->status = statuses[kind % COUNT_OF(statuses)];
	memcpy(c->type, types[kind >> 6], strlen(types[kind >> 6]));
	memcpy(c->reason, "So", 2);
	if (kind == 255)
		c->failure = HTTP_CALL_CLOSED;
	for (; body.n && c->failure == HTTP_CALL_OK; body = slice_from(body, part.n)) {
		part = slice_head(body, piece);
		c->got += part.n;
		if (c->part && !c->part(c, part))
			c->failure = HTTP_CALL_STOPPED;
	}
	c->done(c);
}

/* Answers what is under way; false: nothing is. */
static bool serve(void)
{
	struct http_call *c;
	bool any = false;

	for (int i = 0; i < CALLS_MAX; i++) {
		c = calls[i];
		calls[i] = NULL;
		if (c)
			reply(c);
		any = any || c;
	}
	return any;
}

/* --- the client --- */

static void is_json(struct slice s)
{
	struct json_check c;

	json_check_init(&c);
	MUST(json_check_feed(&c, s) == 0 && json_check_end(&c) == 0);
}

static void on_event(struct job *j, struct slice message)
{
	(void)j;
	is_json(message);
}

static void on_reply(struct job *j)
{
	struct slice out = buf_all(&j->out);

	answers++;
	if (out.n) {
		is_json(out);
		if (j->failed)
			MUST(!memmem(out.p, out.n, API_TOKEN, sizeof(API_TOKEN) - 1));
		if (j->failed && with_token)
			MUST(!memmem(out.p, out.n, BOX_TOKEN, sizeof(BOX_TOKEN) - 1));
	}
	job_free(j);
}

#define CALL(tool, args) tool "\",\"arguments\":{" args "}"
#define BOX "\"sandbox_id\":\"a/b\""
#define PROOF BOX ",\"sandbox_token\":\"" BOX_TOKEN "\""
#define FILE_AND_TEXT BOX ",\"path\":\"/x\",\"marker\":\"ab\""

// clang-format off
static const char *const asked[] = {
	CALL("list_templates", ""),
	CALL("list_snapshots", ""),
	CALL("spawn_sandboxes", "\"template\":\"a\""),
	CALL("spawn_sandboxes", "\"tag\":\"a\",\"n\":3"),
	CALL("branch_sandbox", BOX ",\"tag\":\"t\""),
	CALL("touch_sandbox", BOX),
	CALL("get_sandbox", BOX),
	CALL("exec_command", PROOF ",\"args\":[\"x\"]"),
	CALL("eval_code", PROOF ",\"code\":\"1\""),
	CALL("wait_for_text", FILE_AND_TEXT ",\"timeout_secs\":0"),
	CALL("wait_for_text", FILE_AND_TEXT),
	CALL("ping_sandbox", BOX),
	CALL("kill_sandbox", BOX),
	CALL("delete_snapshot", "\"tag\":\"a\""),
};
// clang-format on

static void stop_loop(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

static void turn(void)
{
	struct timer t = { .fire = stop_loop };

	timer_set(&t, 0);
	loop_run();
}

static void cancel(struct job *j, void *ctx)
{
	(void)ctx;
	job_cancel(j);
}

static void set_up(void)
{
	static const struct master_config config = {
		.token = { API_TOKEN, sizeof(API_TOKEN) - 1 },
		.http_timeout_ms = 1000,
		.start_timeout_ms = 1000,
		.max_output = 1024,
	};
	struct toolset sets[] = { sandbox_toolset, { 0 } };
	struct slice bad;

	log_setup(LOG_ERROR, false);
	methods_setup("Fuzz");
	master_setup(&config);
	MUST(loop_init() == 0 && jobs_init(sandbox_output()) == 0);
	MUST(tools_choose(sets, "sandbox", false, &bad) == 0);
}

static void call(const char *what)
{
	static const struct sink sink = { .event = on_event, .reply = on_reply };
	struct job *j = job_new(&sink, calls);

	with_token = strstr(what, BOX_TOKEN);
	j->era = era_legacy();
	buf_printf(&j->text,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		"call\",\"params\":{\"name\":\"%s}}",
		what);
	rpc_start(j);
}

/* What sleeps is not waited for but cancelled: then it has to clean up. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;

	if (!ready)
		set_up();
	ready = true;
	input = (struct slice){ (const char *)data, size };
	requests = answers = 0;
	call(asked[byte() % COUNT_OF(asked)]);
	for (int turns = 0; job_count() > 0; turns++) {
		MUST(turns < TURNS_MAX);
		if (!serve() && turns > 1)
			job_each(cancel, NULL);
		turn();
	}
	MUST(answers == 1);
	MUST(!serve());
	return 0;
}
