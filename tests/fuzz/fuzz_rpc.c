/*
 * Whatever a client sends, in whatever order its calls end: each text is served exactly once, each
 * request in it gets exactly one answer with its id unless it was cancelled, notifications and
 * answers get none, all that is said is JSON, and nothing is left behind.
 *
 * The first byte sets how the server stands; each further line is a message, or one of the letters
 * below.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "json/json_check.h"
#include "mcp/methods.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"

enum {
	STRUCTURED = 1, /* bits of the first byte; those above these choose the era */
	BATCHES = 2,
	MODERN_HEAD = 4,
	NO_MEMORY = 8,
	ERA_SHIFT = 4,

	TEXTS_MAX = 100,
	ROUNDS_MAX = 3 * BATCH_MAX +
		     10,  /* turns of the loop until all is answered: three naps a message */
	PARTS_MAX = 1000, /* more than an answer holds */
};

/* One text and what must come of it. */
struct text {
	const struct job *job; /* NULL: done */
	char id[ID_MAX + 3];   /* of a single request; "": there is none to be told */
	int due;               /* answers that must come */
	bool batch;
	int cancelled; /* calls of it whose answer is not wanted; not counting those of a batch
			  whose turn had not come */
	bool gone;
};

static struct text texts[TEXTS_MAX];
static int text_count;
static struct buf copy, scratch;
static uint8_t mode;

static void is_json(struct slice s)
{
	struct json_check c;

	json_check_init(&c);
	MUST(json_check_feed(&c, s) == 0 && json_check_end(&c) == 0);
}

static struct text *text_of(const struct job *j)
{
	int i = 0;

	while (i < text_count && texts[i].job != j)
		i++;
	MUST(i < text_count); /* else it was served before */
	return &texts[i];
}

/* --- what must be answered --- */

static bool is_request_id(const struct json *d, int at)
{
	return (json_type(d, at) == JSON_STRING || json_is_integer(d, at)) &&
	       json_raw(d, at).n <= ID_MAX;
}

static bool stands_twice(const struct json *d, int at)
{
	static const char *const names[] = { "jsonrpc", "id", "method", "params", "result",
		"error" };
	int found[6];

	return json_pick(d, at, names, 6, found) == -EEXIST;
}

/* Answers due to one message, and in *t the id that it has. */
static int due(struct text *t, struct json *d, int at)
{
	int id = json_get(d, at, "id"), method = json_get(d, at, "method");
	struct slice s;

	if (json_type(d, at) != JSON_OBJECT)
		return 1;
	if (method < 0 && (json_get(d, at, "result") >= 0 || json_get(d, at, "error") >= 0))
		return 0;
	if (id >= 0 && is_request_id(d, id)) {
		s = json_raw(d, id);
		memcpy(t->id, s.p, s.n);
		t->id[s.n] = '\0';
	}
	return id >= 0 || stands_twice(d, at) ||
	       !json_str_is(d, json_get(d, at, "jsonrpc"), "2.0") || json_str(d, method, &s) < 0;
}

static void expect(struct text *t, struct slice message)
{
	struct json d;
	struct text one;

	fuzz_buf(&copy, MIB);
	fuzz_buf(&scratch, 8 * MIB);
	buf_slice(&copy, message);
	t->due = 1;
	if (json_parse(&d, copy.p, copy.len, &scratch) < 0)
		return;
	if (json_type(&d, 0) != JSON_ARRAY) {
		t->due = due(t, &d, 0);
	} else if ((mode & BATCHES) && json_count(&d, 0) >= 1 && json_count(&d, 0) <= BATCH_MAX) {
		t->batch = true;
		t->due = 0;
		for (int at = json_first(&d, 0); at >= 0; at = json_next(&d, 0, at))
			t->due += due(&one, &d, at);
	}
}

/* --- what is answered --- */

/* An answer has an id, and a result or an error. */
static void is_answer(const struct json *d, int at, const char *id)
{
	int result = json_get(d, at, "result"), error = json_get(d, at, "error");

	MUST(json_str_is(d, json_get(d, at, "jsonrpc"), "2.0"));
	MUST((result >= 0) != (error >= 0));
	MUST(result < 0 || json_type(d, result) == JSON_OBJECT);
	MUST(error < 0 || json_is_integer(d, json_get(d, error, "code")));
	MUST(!id || slice_is(json_raw(d, json_get(d, at, "id")), id[0] ? id : "null"));
}

static int answers_in(const struct text *t, struct slice all)
{
	struct slice line = { 0 };
	struct json d;
	int n = 0;

	if (all.n == 0)
		return 0;
	while (all.n > 0) {
		line = str_split(&all, '\n');
		is_json(line);
	}
	fuzz_buf(&copy, MIB);
	fuzz_buf(&scratch, 8 * MIB);
	buf_slice(&copy, line);
	MUST(json_parse(&d, copy.p, copy.len, &scratch) == 0);
	if (json_type(&d, 0) != JSON_ARRAY) {
		MUST(!t->batch);
		is_answer(&d, 0, t->id);
		return 1;
	}
	MUST(t->batch);
	for (int at = json_first(&d, 0); at >= 0; at = json_next(&d, 0, at), n++)
		is_answer(&d, at, NULL);
	return n;
}

static void on_reply(struct job *j)
{
	struct text *t = text_of(j);
	int n = answers_in(t, buf_all(&j->out));
	int cancelled = t->cancelled + __builtin_popcount(j->cancelled);

	MUST(!j->out.failed);
	MUST(t->gone ? n == 0 : n <= t->due && n >= t->due - cancelled);
	MUST(!j->cleanup && !j->waiting);
	t->job = NULL;
	job_free(j);
}

static void on_event(struct job *j, struct slice message)
{
	is_json(message);
	MUST(!j->muted && text_of(j));
}

static const struct sink sink = { .event = on_event, .reply = on_reply, .cancel_by_id = true };

/* --- tools --- */

enum { ANY_STR, ANY_INT, ANY_BOOL, ANY_SECONDS, ANY_OPTIONAL, ANY_CHOICE };
static const struct arg any_args[] = {
	[ANY_STR] = { "str", ARG_STR, 0, "", "\"\"" },
	[ANY_INT] = { "int", ARG_INT, ARG_NULL, "", NULL },
	[ANY_BOOL] = { "bool", ARG_BOOL, 0, "", "false" },
	[ANY_SECONDS] = { "seconds", ARG_SECONDS, ARG_NULL, "", NULL },
	[ANY_OPTIONAL] = { "optional", ARG_STR, ARG_NULL, "", NULL },
	[ANY_CHOICE] = { "choice", ARG_STR, ARG_NULL, "", NULL, "a|bc" },
	{ 0 },
};

/* Binds every type; what is bound must hold to its type's promise. */
static enum step any(struct job *j)
{
	struct slice s = arg_str(j, ANY_STR), choice = arg_str(j, ANY_CHOICE);

	MUST(!arg_given(j, ANY_CHOICE) || slice_is(choice, "a") || slice_is(choice, "bc"));
	MUST(!str_has(s, '\0'));
	for (struct slice rest = s; rest.n > 0; rest = slice_from(rest, (size_t)utf8_seq(rest)))
		MUST(utf8_seq(rest) > 0);
	MUST(arg_given(j, ANY_INT) || arg_num(j, ANY_INT) == 0);
	tool_begin(j);
	jw_text(&j->w, s);
	jw_text(&j->w, arg_raw(j, ANY_SECONDS));
	tool_end(j, arg_bool(j, ANY_BOOL));
	return tool_note(j, "%lld %lld %.*s", (long long)arg_num(j, ANY_INT),
		(long long)arg_num(j, ANY_SECONDS), SLICE(arg_str(j, ANY_OPTIONAL)));
}

enum { SOME_WORDS, SOME_COUNT, SOME_NAME };
static const struct arg some_args[] = {
	[SOME_WORDS] = { "words", ARG_STRS, ARG_REQUIRED, "", .min = 1 },
	[SOME_COUNT] = { "count", ARG_INT, 0, "", .min = 1, .max = 9, .alias = "n" },
	[SOME_NAME] = { "name", ARG_STR, ARG_HIDDEN, "", .min = 1, .max = 4 },
	{ 0 },
};

/* In the form of the sandbox tools. */
static enum step some(struct job *j)
{
	struct slice words = arg_str(j, SOME_WORDS), name = arg_str(j, SOME_NAME);

	MUST(words.n >= sizeof("[\"\"]") - 1);
	is_json(words);
	MUST(!arg_given(j, SOME_COUNT) ||
		(arg_num(j, SOME_COUNT) > 0 && arg_num(j, SOME_COUNT) < 10));
	MUST(!arg_given(j, SOME_NAME) || (name.n > 0 && name.n < 5));
	if (arg_num(j, SOME_COUNT) == 9)
		return tool_refuse(j, LIT("count"), "is nine");
	return tool_json(j, words);
}

enum { BYTES_OF };
static const struct arg bytes_args[] = {
	[BYTES_OF] = { "of", ARG_STR, ARG_REQUIRED | ARG_NUL, "", NULL },
	{ 0 },
};

/* An answer much longer than the string, whose parts end within a sequence. */
static enum step bytes(struct job *j)
{
	static const char part[] =
		"\xff\x01\x02\x03\x04\x05\x06\x07\x01\x02\x03\x04\x05\x06\x07\xe2\x82\xac\xe2\x82";
	size_t n = arg_str(j, BYTES_OF).n * 50;

	tool_begin(j);
	for (size_t i = 0; i < n && i < PARTS_MAX; i++)
		jw_text(&j->w, (struct slice){ part, sizeof(part) - 1 - i % 4 });
	return tool_end(j, false);
}

struct call {
	int asked, cleaned; /* how often each hook was called */
};

static void on_cancel(struct job *j)
{
	struct call *c = j->state;

	MUST(++c->asked == 1 && c->cleaned == 0);
}

static void on_cleanup(struct job *j)
{
	struct call *c = j->state;

	MUST(++c->cleaned == 1);
	text_of(j)->cancelled += j->muted;
}

static enum step wait_over(struct job *j)
{
	MUST(!j->muted && !j->stopped);
	j->started -= PROGRESS_FIRST_MS;
	tool_progress(j, 1, 2, LIT("\xe2\x82\x01"));
	return tool_printf(j, "over");
}

/* Waits until the harness wakes it; asked to end, it still does. */
static enum step wait_start(struct job *j)
{
	if (!job_state(j, sizeof(struct call)))
		return tool_fail(j, "no memory");
	j->cleanup = on_cleanup;
	j->cancel = on_cancel;
	return job_wait(j, wait_over);
}

static enum step nap_again(struct job *j)
{
	return job_nap(j, 0, wait_over);
}

static enum step nap_start(struct job *j)
{
	if (!job_state(j, sizeof(struct call)))
		return tool_fail(j, "no memory");
	j->cleanup = on_cleanup;
	return job_nap(j, 0, nap_again);
}

// clang-format off
static const struct tool tools[] = {
	{ "any", "Any", "", any_args, TOOL_READS, any },
	{ "some", "Some", "", some_args, TOOL_JSON | TOOL_LIST | TOOL_LENIENT, some },
	{ "bytes", "Bytes", "", bytes_args, 0, bytes },
	{ "wait", "Wait", "", NULL, TOOL_SPAWNS, wait_start },
	{ "nap", "Nap", "", NULL, 0, nap_start },
	{ 0 },
};
// clang-format on

static const struct tool *const groups[] = { tools, NULL };
static const struct toolset sets[] = { { "all", groups }, { 0 } };

/* --- the client --- */

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

/* What waits for no time waits for this. */
static void wake(struct job *j, void *ctx)
{
	(void)ctx;
	if (j->waiting && !j->nap.set)
		job_wake(j);
}

static void abandon(struct job *j, void *ctx)
{
	(void)ctx;
	text_of(j)->gone = true;
	job_abandon(j);
}

static void send(struct slice message)
{
	struct job *j = job_new(&sink, texts);
	struct text *t = &texts[text_count];

	if (!j)
		j = job_new_spare(&sink, texts);
	if (!j || text_count == TEXTS_MAX) {
		if (j)
			job_free(j);
		return;
	}
	text_count++;
	*t = (struct text){ .job = j };
	expect(t, message);
	j->era = &eras[1 + (mode >> ERA_SHIFT) % 4];
	j->batch_ok = mode & BATCHES;
	j->modern = mode & MODERN_HEAD;
	buf_slice(&j->text, message);
	if (j->text.failed) {
		t->id[0] = '\0';
		t->batch = false;
		t->due = 1;
		rpc_too_long(j);
	} else {
		rpc_start(j);
	}
}

static void serve_line(struct slice line)
{
	if (slice_is(line, "wake"))
		job_each(wake, NULL);
	else if (slice_is(line, "turn"))
		turn();
	else if (slice_is(line, "stop"))
		job_stop_all();
	else if (slice_is(line, "gone"))
		job_each(abandon, NULL);
	else
		send(line);
}

static void set_up(void)
{
	struct slice bad;

	log_setup(LOG_ERROR, false);
	methods_setup("\"Fuzz\"");
	MUST(loop_init() == 0 && jobs_init(OUTPUT_MIN) == 0);
	MUST(tools_choose(sets, "all", false, &bad) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	struct slice rest = { (const char *)data, size };
	int rounds = 0;

	if (!ready)
		set_up();
	ready = true;
	mode = size > 0 ? data[0] : 0;
	rest = slice_from(rest, size > 0);
	tools_setup("/", mode & STRUCTURED);
	text_count = 0;
	while (rest.n > 0) {
		mem_set_budget(mode & NO_MEMORY ? 0 : MEM_BUDGET_MAX);
		serve_line(str_split(&rest, '\n'));
		mem_set_budget(MEM_BUDGET_MAX);
	}
	for (; job_count() > 0 && rounds < ROUNDS_MAX; rounds++) {
		job_each(wake, NULL);
		turn();
	}
	MUST(job_count() == 0);
	for (int i = 0; i < text_count; i++)
		MUST(!texts[i].job);
	return 0;
}
