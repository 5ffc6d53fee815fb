/* The results of tools: content blocks, errors, notes, progress. */
#include "mcp/tool.h"

#include "base/str.h"
#include "mcp/bind.h"
#include "mcp/rpc.h"

/* --- one text block --- */

static void block_open(struct job *j)
{
	jw_object(&j->w, NULL);
	jw_puts(&j->w, "type", "text");
	jw_text_open(&j->w, "text");
}

static void block_close(struct job *j)
{
	jw_text_close(&j->w);
	jw_close(&j->w);
}

/* The first block's text again, as the reference sends it; it is already escaped. */
static void put_structured(struct job *j)
{
	jw_object(&j->w, "structuredContent");
	jw_text_open(&j->w, "result");
	buf_put(&j->out, j->out.p + j->text_from, j->text_to - j->text_from);
	jw_text_close(&j->w);
	jw_close(&j->w);
}

static void result_close(struct job *j)
{
	j->close = NULL;
	jw_close(&j->w);
	if (tools_structured() && !j->failed && !j->out.failed && !(j->tool->flags & TOOL_JSON))
		put_structured(j);
	jw_bool(&j->w, "isError", j->failed);
	rpc_result_end(j);
}

void tool_begin(struct job *j)
{
	j->close = result_close;
	j->failed = false;
	rpc_result_begin(j);
	jw_array(&j->w, "content");
	block_open(j);
	j->text_from = j->out.len;
}

/* Closing the text may still add U+FFFD to it, for a sequence that has no end. */
enum step tool_end(struct job *j, bool failed)
{
	jw_text_close(&j->w);
	j->text_to = j->out.len - 1;
	jw_close(&j->w);
	j->failed = failed;
	return STEP_DONE;
}

enum step tool_text(struct job *j, struct slice text)
{
	tool_begin(j);
	jw_text(&j->w, text);
	return tool_end(j, false);
}

static void json_close(struct job *j)
{
	j->close = NULL;
	jw_bool(&j->w, "isError", false);
	rpc_result_end(j);
}

/* All of it is written now: json need not live until the message is closed. */
enum step tool_json(struct job *j, struct slice json)
{
	tool_text(j, json);
	jw_close(&j->w);
	if (j->tool->flags & TOOL_LIST) {
		jw_object(&j->w, "structuredContent");
		jw_raw(&j->w, "result", json);
		jw_close(&j->w);
	} else {
		jw_raw(&j->w, "structuredContent", json);
	}
	j->close = json_close;
	return STEP_DONE;
}

enum step tool_printf(struct job *j, const char *fmt, ...)
{
	va_list ap;

	tool_begin(j);
	va_start(ap, fmt);
	jw_text_vprintf(&j->w, fmt, ap);
	va_end(ap);
	return tool_end(j, false);
}

void tool_begin_failure(struct job *j)
{
	tool_begin(j);
	if (j->tool->flags & TOOL_LENIENT)
		jw_text_printf(&j->w, "Error executing tool %s: ", j->tool->name);
}

enum step tool_fail(struct job *j, const char *fmt, ...)
{
	va_list ap;

	tool_begin_failure(j);
	va_start(ap, fmt);
	jw_text_vprintf(&j->w, fmt, ap);
	va_end(ap);
	return tool_end(j, true);
}

enum step tool_refuse(struct job *j, struct slice arg, const char *rule)
{
	if (j->tool->flags & TOOL_LENIENT)
		return tool_fail(j, "argument %.*s: %s", SLICE(arg), rule);
	return tool_fail(j, "Invalid arguments for %s: %.*s: %s", j->tool->name, SLICE(arg), rule);
}

void tool_note_begin(struct job *j)
{
	block_open(j);
}

enum step tool_note_end(struct job *j)
{
	block_close(j);
	return STEP_DONE;
}

enum step tool_note(struct job *j, const char *fmt, ...)
{
	va_list ap;

	tool_note_begin(j);
	va_start(ap, fmt);
	jw_text_vprintf(&j->w, fmt, ap);
	va_end(ap);
	return tool_note_end(j);
}

enum step tool_call(struct job *j, const struct tool *tool, int arguments)
{
	j->tool = tool;
	if (!bind_arguments(j, arguments))
		return STEP_DONE;
	return tool->run(j);
}

/* --- progress --- */

bool tool_wants_progress(const struct job *j)
{
	return j->progress_token.n && !j->muted && j->sink->event;
}

static bool progress_due(const struct job *j)
{
	int64_t now = loop_now();

	if (!tool_wants_progress(j) || now - j->started < PROGRESS_FIRST_MS)
		return false;
	return !j->progress_last || now - j->progress_last >= PROGRESS_EVERY_MS;
}

void tool_progress(struct job *j, int64_t progress, int64_t total, struct slice message)
{
	char mem[4 * KIB];
	struct buf b;
	struct jw w;

	if (!progress_due(j))
		return;
	buf_over(&b, mem, sizeof(mem));
	jw_init(&w, &b);
	jw_object(&w, NULL);
	jw_puts(&w, "jsonrpc", "2.0");
	jw_puts(&w, "method", "notifications/progress");
	jw_object(&w, "params");
	jw_raw(&w, "progressToken", j->progress_token);
	jw_int(&w, "progress", progress);
	if (total > 0)
		jw_int(&w, "total", total);
	if (message.n)
		jw_str(&w, "message", message);
	jw_close(&w);
	jw_close(&w);
	if (b.failed)
		return;
	j->progress_last = loop_now();
	j->sink->event(j, buf_all(&b));
}
