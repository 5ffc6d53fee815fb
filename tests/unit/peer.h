/*
 * A client without a transport: what it sends goes into rpc_start as one text, what it is sent is
 * kept as text. The server behind it has tools made for tests.
 */
#ifndef PEER_H
#define PEER_H

#include "unit.h"

#include "base/log.h"
#include "bounds.h"
#include "mcp/methods.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"

enum { PEER_OUTPUT = 4 * KIB };

static char heard[256 * KIB]; /* answers, a line each */
static char events[16 * KIB]; /* progress messages, likewise */
static int replies;           /* how often the server was done with a text of ours */
static const struct era *peer_era;
static bool peer_batch; /* a batch is welcome */

static inline void keep(char *kept, size_t size, struct slice line)
{
	size_t n = strlen(kept);

	assert_true(n + line.n + 2 < size);
	memcpy(kept + n, line.p, line.n);
	kept[n + line.n] = '\n';
	kept[n + line.n + 1] = '\0';
}

static inline void peer_event(struct job *j, struct slice message)
{
	(void)j;
	keep(events, sizeof(events), message);
}

static inline void peer_reply(struct job *j)
{
	replies++;
	assert_false(j->out.failed);
	if (j->out.len)
		keep(heard, sizeof(heard), buf_all(&j->out));
	job_free(j);
	loop_stop(0);
}

static inline void peer_agreed(struct job *j, const struct era *era)
{
	(void)j;
	peer_era = era;
}

static const struct sink peer_sink = {
	.event = peer_event,
	.reply = peer_reply,
	.agreed = peer_agreed,
	.cancel_by_id = true,
};

/* --- tools --- */

/* Calls of `wait` that are parked now, the latest last. */
static struct job *waiters[JOBS_MAX];
static int waiter_count;
static int cancels, cleanups; /* how often their hooks were called */

enum { ECHO_TEXT };
static const struct arg echo_args[] = {
	[ECHO_TEXT] = { "text", ARG_STR, ARG_REQUIRED | ARG_NUL, "What to say", NULL },
	{ 0 },
};

static inline enum step echo(struct job *j)
{
	return tool_text(j, arg_str(j, ECHO_TEXT));
}

enum { SHOW_S, SHOW_N, SHOW_B, SHOW_T };
static const struct arg show_args[] = {
	[SHOW_S] = { "s", ARG_STR, ARG_NULL, "A string", NULL },
	[SHOW_N] = { "n", ARG_INT, ARG_NULL, "An integer", NULL },
	[SHOW_B] = { "b", ARG_BOOL, 0, "A truth", "false" },
	[SHOW_T] = { "t", ARG_SECONDS, 0, "A time", "30" },
	{ 0 },
};

/* The arguments as they were bound; of t also what the client wrote. */
static inline enum step show(struct job *j)
{
	struct slice s = arg_str(j, SHOW_S), t = arg_raw(j, SHOW_T);

	return tool_printf(j, "s%d=%.*s n%d=%lld b%d=%d t%d=%lld,%.*s", arg_given(j, SHOW_S),
		SLICE(s), arg_given(j, SHOW_N), (long long)arg_num(j, SHOW_N), arg_given(j, SHOW_B),
		arg_bool(j, SHOW_B), arg_given(j, SHOW_T), (long long)arg_num(j, SHOW_T), SLICE(t));
}

enum { PICK_COLOUR };
static const struct arg pick_args[] = {
	[PICK_COLOUR] = { "colour", ARG_STR, ARG_NULL, "Which", NULL, "red|green" },
	{ 0 },
};

static inline enum step pick(struct job *j)
{
	return tool_printf(j, "%d%.*s", arg_given(j, PICK_COLOUR), SLICE(arg_str(j, PICK_COLOUR)));
}

static inline enum step waited(struct job *j)
{
	return tool_text(j, LIT("waited"));
}

static inline void wait_cancel(struct job *j)
{
	(void)j;
	cancels++;
}

static inline void wait_cleanup(struct job *j)
{
	(void)j;
	cleanups++;
}

static inline enum step wait_start(struct job *j)
{
	waiters[waiter_count++] = j;
	j->cancel = wait_cancel;
	j->cleanup = wait_cleanup;
	return job_wait(j, waited);
}

enum { FILL_SIZE };
static const struct arg fill_args[] = {
	[FILL_SIZE] = { "size", ARG_INT, ARG_REQUIRED,
		"How many bytes, each of which is escaped as six", NULL },
	{ 0 },
};

static inline enum step fill(struct job *j)
{
	tool_begin(j);
	for (int64_t i = 0; i < arg_num(j, FILL_SIZE); i++)
		jw_text(&j->w, LIT("\x01"));
	return tool_end(j, false);
}

/* A text in parts with a sequence that ends nowhere, and a note. */
static inline enum step parts(struct job *j)
{
	tool_begin(j);
	jw_text(&j->w, LIT("caf\xc3"));
	jw_text(&j->w, LIT("\xa9 \xe2\x82"));
	tool_end(j, false);
	return tool_note(j, "a note of %d parts", 2);
}

static inline enum step failing(struct job *j)
{
	tool_begin(j);
	jw_text(&j->w, LIT("so far, so good"));
	return tool_fail(j, "%s: it \"failed\"\n", j->tool->name);
}

/* The forms of the sandbox tools. */
enum { GENTLE_WORDS, GENTLE_COUNT, GENTLE_NAME, GENTLE_SECS, GENTLE_QUIET };
static const struct arg gentle_args[] = {
	[GENTLE_WORDS] = { "words", ARG_STRS, ARG_REQUIRED, "Words", .min = 1 },
	[GENTLE_COUNT] = { "count", ARG_INT, 0, "A count", "1", .min = 1, .max = 9,
		.alias = "number" },
	[GENTLE_NAME] = { "name", ARG_STR, 0, "A name", .min = 1, .max = 4 },
	[GENTLE_SECS] = { "secs", ARG_SECONDS, 0, "A time", .min = 0, .max = 2 },
	[GENTLE_QUIET] = { "quiet", ARG_BOOL, ARG_HIDDEN, "Not told" },
	{ 0 },
};

static inline enum step gentle(struct job *j)
{
	size_t at = j->mem.len;
	struct jw w;

	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	jw_raw(&w, "words", arg_str(j, GENTLE_WORDS));
	if (arg_given(j, GENTLE_COUNT))
		jw_int(&w, "count", arg_num(j, GENTLE_COUNT));
	if (arg_given(j, GENTLE_NAME))
		jw_str(&w, "name", arg_str(j, GENTLE_NAME));
	if (arg_given(j, GENTLE_SECS))
		jw_int(&w, "ms", arg_num(j, GENTLE_SECS));
	if (arg_given(j, GENTLE_QUIET))
		jw_bool(&w, "quiet", arg_bool(j, GENTLE_QUIET));
	jw_close(&w);
	return tool_json(j, (struct slice){ j->mem.p + at, j->mem.len - at });
}

static inline enum step rows(struct job *j)
{
	return tool_json(j, LIT("[1,{\"a\":\"\\u0000\"}]"));
}

static inline enum step ruled(struct job *j)
{
	return tool_refuse(j, LIT("name"), "is taken");
}

// clang-format off
static const struct tool peer_tools[] = {
	{ "echo", "Echo", "Say it again", echo_args, TOOL_READS | TOOL_IDEMPOTENT, echo },
	{ "show", "Show", "Show arguments", show_args, TOOL_READS, show },
	{ "pick", "Pick", "Pick one", pick_args, TOOL_READS, pick },
	{ "wait", "Wait", "Wait", NULL, TOOL_SPAWNS, wait_start },
	{ "stay", "Stay", "Wait without a child", NULL, 0, wait_start },
	{ "fill", "Fill", "Say much", fill_args, 0, fill },
	{ "parts", "Parts", "Say it in parts", NULL, TOOL_OPEN, parts },
	{ "fail", "Fail", "Fail", NULL, TOOL_DESTROYS, failing },
	{ "gentle", "Gentle", "Take much", gentle_args, TOOL_READS | TOOL_JSON | TOOL_LENIENT, gentle },
	{ "rows", "Rows", "Rows", NULL, TOOL_JSON | TOOL_LIST, rows },
	{ "ruled", "Ruled", "Refuse", NULL, TOOL_JSON | TOOL_LENIENT, ruled },
	{ 0 },
};
// clang-format on

static const struct tool *const peer_groups[] = { peer_tools, NULL };
static const struct toolset peer_sets[] = { { "test", peer_groups }, { 0 } };

/* --- what a test does --- */

static inline int peer_start(void **state)
{
	struct slice bad;

	(void)state;
	log_setup(LOG_ERROR, false);
	methods_setup("Do as you like.");
	if (loop_init() < 0 || jobs_init(PEER_OUTPUT) < 0 ||
		tools_choose(peer_sets, "test", false, &bad) < 0)
		return -1;
	return 0;
}

/* Before each test: a new client of a server that has nothing to do. */
static inline int peer_new(void **state)
{
	(void)state;
	heard[0] = events[0] = '\0';
	replies = waiter_count = cancels = cleanups = 0;
	peer_era = era_legacy();
	peer_batch = false;
	tools_setup("/root/of/it", false);
	return job_count();
}

/* Sends a text in job j, NULL: there is none. Gives false then. */
static inline bool send_in(struct job *j, struct slice text)
{
	if (!j)
		return false;
	j->era = peer_era;
	j->batch_ok = peer_batch;
	buf_slice(&j->text, text);
	if (j->text.failed)
		rpc_too_long(j);
	else
		rpc_start(j);
	return true;
}

static inline void send_text(const char *text)
{
	assert_true(send_in(job_new(&peer_sink, heard), slice_of(text)));
}

/* Sends a text and gives what was heard, all of it, once the server is done with it. */
static inline const char *ask(const char *text)
{
	heard[0] = '\0';
	replies = 0;
	send_text(text);
	while (replies == 0)
		loop_run();
	return heard;
}

/* Runs what is queued in the loop, without waiting. */
static inline void run_tasks(void)
{
	loop_stop(0);
	loop_run();
}

#define TEST(name) cmocka_unit_test_setup(name, peer_new)

#define asked(text, answer) assert_string_equal(ask(text), answer "\n")
#define says_nothing(text) assert_string_equal(ask(text), "")

#define MSG(rest) "{\"jsonrpc\":\"2.0\"," rest "}"
#define OK(id, result) MSG("\"id\":" id ",\"result\":" result)
#define ERR(id, code, text)                                                                        \
	MSG("\"id\":" id ",\"error\":{\"code\":" #code ",\"message\":\"" text "\"}")
#define CALL(id, tool, args)                                                                       \
	MSG("\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool                 \
	    "\",\"arguments\":" args "}")
#define TEXT_RESULT(text)                                                                          \
	"{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}"
#define FAIL_RESULT(text)                                                                          \
	"{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true}"

#endif
