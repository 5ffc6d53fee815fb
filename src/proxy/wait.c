/*
 * wait_for_text: looks into a file of a sandbox until a marker stands in it, by running a fixed
 * script with exec_command's route again and again. Nothing of the caller's is ever part of the
 * script; path, offset and limit are its arguments.
 */
#include <errno.h>

#include "base/str.h"
#include "proxy/args.h"
#include "proxy/master.h"
#include "proxy/proxy.h"

enum {
	LOOK_MAX = 64 * KIB,      /* bytes of the file that a look reads ... */
	LOOK_KEEP = 4 * LOOK_MAX, /* ... none of which may be cut, even if all come as escapes */
	LOOK_REPLY_MAX = MIB,
	LOOK_TIMEOUT_S = 5, /* of the command */
	LOOK_MARGIN_MS = 15 * 1000,
	OVERTIME_MS = 400, /* a look that is under way at the end may still find it */
	EXCERPT_MAX = 256,
	ERROR_MAX = 600,
};

enum { A_ID, A_PATH, A_MARKER, A_TIMEOUT, A_POLL, A_TOKEN };

/*
 * Prints the size of the file, then what stands from byte $2 on, at most $3 bytes. Nothing, and
 * success, when there is no such file.
 */
static const char script[] = "[ -f \"$1\" ]||exit 0;s=$(wc -c<\"$1\")||exit 1;n=$((s-$2));"
			     "[ $n -gt $3 ]&&n=$3;echo $((s));"
			     "[ $n -gt 0 ]&&tail -c +$(($2+1)) \"$1\"|head -c $n;exit 0";

struct wait {
	struct master_call call;
	int64_t deadline, interval_ms, looked; /* loop_now of the end, of the last look's start */
	int64_t offset;                        /* where the next look begins */
	int64_t end;                           /* of what was read so far */
	char excerpt[EXCERPT_MAX];
	size_t excerpt_len;
	char error[ERROR_MAX]; /* of the last look */
	size_t error_len;
};

static enum step look(struct job *j);

/* --- answers --- */

static int64_t waited_ms(const struct job *j)
{
	return loop_now() - j->started;
}

static enum step answer(struct job *j, bool found)
{
	struct wait *s = j->state;
	size_t at = j->mem.len;
	struct jw w;

	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	jw_bool(&w, "found", found);
	jw_int(&w, "elapsed_ms", waited_ms(j));
	jw_str(&w, "last_excerpt", (struct slice){ s->excerpt, s->excerpt_len });
	if (!found && s->error_len)
		jw_str(&w, "last_error", (struct slice){ s->error, s->error_len });
	jw_close(&w);
	return tool_json(j, buf_since(&j->mem, at));
}

static void put_progress(struct job *j, struct buf *b)
{
	const struct wait *s = j->state;

	buf_printf(b, "the text is not there yet, %lld bytes read", (long long)s->end);
}

/* --- what a look has read --- */

/* The end of s, which begins with a whole character. */
static struct slice last_bytes(struct slice s, size_t n)
{
	if (s.n <= n)
		return s;
	s = slice_from(s, s.n - n);
	while (s.n && ((unsigned char)s.p[0] & 0xc0) == 0x80)
		s = slice_from(s, 1);
	return s;
}

static void keep_excerpt(struct wait *s, struct slice text)
{
	text = last_bytes(text, sizeof(s->excerpt));
	memcpy(s->excerpt, text.p, text.n);
	s->excerpt_len = text.n;
}

static size_t at_least(size_t n, size_t min)
{
	return n > min ? n : min;
}

/*
 * The next look begins so far before the end of this one that a marker, or a character of four
 * bytes, which lies across the end is read whole; and that it brings an excerpt.
 */
static void advance(struct wait *s, size_t marker, int64_t size)
{
	int64_t back = (int64_t)at_least(marker + 3, EXCERPT_MAX);

	if (size < s->end) { /* another file: from its start */
		s->offset = s->end = 0;
		return;
	}
	s->end = s->offset + LOOK_MAX < size ? s->offset + LOOK_MAX : size;
	s->offset = s->end > back ? s->end - back : 0;
}

/* --- after a look --- */

static enum step next_look(struct job *j, bool at_once)
{
	struct wait *s = j->state;
	int64_t now = loop_now(), due = at_once ? now : s->looked + s->interval_ms;

	if (now >= s->deadline)
		return answer(j, false);
	if (due > s->deadline)
		due = s->deadline;
	return job_nap(j, due > now ? due - now : 0, look);
}

static enum step look_failed(struct job *j, struct slice why)
{
	struct wait *s = j->state;

	why = slice_head(why, sizeof(s->error));
	memcpy(s->error, why.p, why.n);
	s->error_len = why.n;
	return next_look(j, false);
}

static enum step script_failed(struct job *j, int64_t code, struct slice err)
{
	size_t at = j->mem.len;

	buf_printf(&j->mem, "looking into the file failed with exit code %lld: %.*s",
		(long long)code, SLICE(slice_head(str_trim(err), ERROR_MAX)));
	return look_failed(j, buf_since(&j->mem, at));
}

/* text: size of the file, line end, what was read; or nothing: there is no file. */
static enum step look_read(struct job *j, struct slice text)
{
	struct wait *s = j->state;
	struct slice marker = arg_str(j, A_MARKER), line = str_split(&text, '\n');
	int64_t size = 0;

	if (line.n && str_int(line, &size) < 0)
		return look_failed(j, LIT("the sandbox's shell answered something else"));
	s->error_len = 0;
	if (text.n || size == 0)
		keep_excerpt(s, text);
	if (str_find(text, marker))
		return answer(j, true);
	advance(s, marker.n, size);
	return next_look(j, s->end < size);
}

/* Will it be the same at the next look? */
static bool lasting(const struct http_call *h)
{
	switch (h->failure) {
	case HTTP_CALL_OK:
		return h->status < 500 && h->status != 429 && h->status != 409;
	case HTTP_CALL_TLS:
	case HTTP_CALL_INVALID:
	case HTTP_CALL_REQUEST:
	case HTTP_CALL_STOPPED:
		return true;
	default:
		return false;
	}
}

/* Half of a surrogate pair somewhere in it is no reason not to look at the rest. */
static bool text_of(struct json *d, const char *member, struct slice *out)
{
	int at = json_get(d, 0, member), r = json_str(d, at, out);

	if (r == -EILSEQ)
		*out = json_raw(d, at);
	return r == 0 || r == -EILSEQ;
}

static enum step looked(struct job *j)
{
	struct master_call *c = j->state;
	struct slice out, err = { 0 };
	struct json d;
	int64_t code;

	if (!c->ok)
		return lasting(&c->http) ? master_fail(j, NULL)
					 : look_failed(j, failure_sentence(c, NULL));
	if (json_parse(&d, c->text.p, c->text.len, &j->mem) < 0 || !text_of(&d, "stdout", &out) ||
		json_int(&d, json_get(&d, 0, "exit_code"), &code) < 0)
		return master_fail(j, "it has no stdout or no exit_code");
	if (code == 0)
		return look_read(j, out);
	if (!text_of(&d, "stderr", &err))
		err.n = 0;
	return script_failed(j, code, err);
}

/* --- a look --- */

static void put_args(struct jw *w, struct job *j, const char *key)
{
	const struct wait *s = j->state;
	char mem[24];
	struct buf number;

	jw_array(w, key);
	jw_puts(w, NULL, "sh");
	jw_puts(w, NULL, "-c");
	jw_puts(w, NULL, script);
	jw_puts(w, NULL, "sh");
	jw_str(w, NULL, arg_str(j, A_PATH));
	buf_over(&number, mem, sizeof(mem));
	buf_printf(&number, "%lld", (long long)s->offset);
	jw_str(w, NULL, buf_all(&number));
	buf_over(&number, mem, sizeof(mem));
	buf_printf(&number, "%d", LOOK_MAX);
	jw_str(w, NULL, buf_all(&number));
	jw_close(w);
}

/* left_ms: until the deadline. */
static struct slice body_make(struct job *j, const struct route *r, int64_t left_ms)
{
	char args[WIRE_NAME_MAX + 1];
	int64_t seconds = (left_ms + 999) / 1000;
	size_t at = j->mem.len;
	struct jw w;

	jw_init(&w, &j->mem);
	jw_object(&w, NULL);
	if (str_c(wire_name(route_wire(r, "args"), 0), args, sizeof(args)) == 0)
		put_args(&w, j, args);
	if (seconds < 1)
		seconds = 1;
	request_put_number(&w, wire_name(route_wire(r, "timeout_secs"), 0),
		seconds < LOOK_TIMEOUT_S ? seconds : LOOK_TIMEOUT_S);
	jw_close(&w);
	return buf_since(&j->mem, at);
}

static enum step look(struct job *j)
{
	struct wait *s = j->state;
	int64_t left = s->deadline - loop_now(), most = LOOK_TIMEOUT_S * 1000 + LOOK_MARGIN_MS;
	struct request q = {
		.route = route_of("exec_command"),
		.id = arg_str(j, A_ID),
		.token = arg_str(j, A_TOKEN),
		.limit_ms = left + OVERTIME_MS < most ? left + OVERTIME_MS : most,
		.looks = true,
		.keep = LOOK_KEEP,
		.most = LOOK_REPLY_MAX,
	};

	s->looked = loop_now();
	master_forget(&s->call);
	q.body = body_make(j, q.route, left);
	return master_send(&s->call, &q, looked);
}

static enum step wait_for_text(struct job *j)
{
	struct slice path = arg_str(j, A_PATH);
	struct wait *s;

	if (!request_args_ok(j))
		return STEP_DONE;
	if (path.p[0] != '/')
		return tool_refuse(j, LIT("path"), "must be absolute, beginning with /");
	s = master_new(j, sizeof(*s));
	if (!s)
		return STEP_DONE;
	s->call.put_progress = put_progress;
	s->interval_ms = arg_given(j, A_POLL) ? arg_num(j, A_POLL) : WAIT_POLL_MS;
	s->deadline = loop_now() + (arg_given(j, A_TIMEOUT) ? arg_num(j, A_TIMEOUT) : WAIT_MS);
	return look(j);
}

// clang-format off
static const struct arg wait_args[] = {
	[A_ID] = ARG_SANDBOX_ID,
	[A_PATH] = { "path", ARG_STR, ARG_REQUIRED, "Absolute path of a file in the sandbox; one that does not exist yet is waited for", .min = 1, .max = 4096 },
	[A_MARKER] = { "marker", ARG_STR, ARG_REQUIRED, "The text to wait for", .min = 1, .max = 1024 },
	[A_TIMEOUT] = { "timeout_secs", ARG_SECONDS, 0, "How long to wait; 0: look once", "60", .min = 0, .max = TIMEOUT_MAX_S },
	[A_POLL] = { "poll_interval_ms", ARG_INT, 0, "Milliseconds between two looks", "200", .min = 50, .max = 60000 },
	[A_TOKEN] = ARG_SANDBOX_TOKEN,
	{ 0 },
};

const struct tool wait_tools[] = {
	{ "wait_for_text", "Wait for a text in a file",
		"Wait until a text stands in a file of a sandbox, such as a log that a server writes when it is ready. Returns found, elapsed_ms and the end of the "
		"file in last_excerpt; a text that does not come in time is no error",
		wait_args, TOOL_IDEMPOTENT | TOOL_SPAWNS | TOOL_WAITS | TOOL_JSON | TOOL_LENIENT, wait_for_text },
	{ 0 },
};
// clang-format on
