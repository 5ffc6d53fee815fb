/*
 * The tools that do something inside a sandbox, with its own token.
 */
#include "proxy/args.h"
#include "proxy/master.h"
#include "proxy/proxy.h"

static enum step eval_code(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), object_answered);
}

static enum step ping_sandbox(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), object_answered);
}

/* --- exec_command --- */

enum { A_ID, A_ARGS, A_TIMEOUT, A_TOKEN };

/*
 * A command that was ended by its time limit cannot be told from one that failed: the master may
 * drop the reason. One that gives a hint of its own knows better.
 */
static bool maybe_timed_out(const struct job *j, struct slice object)
{
	const struct master_call *c = j->state;
	int64_t code, limit = arg_given(j, A_TIMEOUT) ? arg_num(j, A_TIMEOUT) : EXEC_TIMEOUT_S;
	struct buf *mem = &c->job->mem;
	struct json d;

	return c->took_ms >= limit * 1000 && json_parse(&d, (char *)object.p, object.n, mem) == 0 &&
	       json_int(&d, json_get(&d, 0, "exit_code"), &code) == 0 && code != 0 &&
	       json_get(&d, 0, "hint") < 0;
}

static enum step exec_answered(struct job *j)
{
	struct master_call *c = j->state;
	struct slice object = reply_object(c);

	if (!object.n || !maybe_timed_out(j, object))
		return object_answered(j);
	buf_cut(&c->text, c->text.len - 1);
	buf_puts(&c->text, ",\"hint\":\"the command may have been stopped by timeout_secs\"}");
	return tool_json(j, buf_all(&c->text));
}

static enum step exec_command(struct job *j)
{
	return master_forward(j, sizeof(struct master_call), exec_answered);
}

// clang-format off
static const struct arg exec_args[] = {
	[A_ID] = ARG_SANDBOX_ID,
	[A_ARGS] = { "args", ARG_STRS, ARG_REQUIRED, "The program and its arguments, one string each; there is no shell, so for shell syntax give [\"sh\",\"-c\",\"...\"]", .min = 1 },
	[A_TIMEOUT] = { "timeout_secs", ARG_INT, 0, "Seconds after which the command is ended", "30", .min = 1, .max = TIMEOUT_MAX_S },
	[A_TOKEN] = ARG_SANDBOX_TOKEN,
	{ 0 },
};

static const struct arg eval_args[] = {
	ARG_SANDBOX_ID,
	{ "code", ARG_STR, ARG_REQUIRED, "The code to run", .min = 1 },
	{ "timeout_secs", ARG_INT, 0, "Seconds after which it is ended; left out: as the master has it", .min = 1, .max = TIMEOUT_MAX_S },
	ARG_SANDBOX_TOKEN,
	{ 0 },
};

static const struct arg ping_args[] = { ARG_SANDBOX_ID, ARG_SANDBOX_TOKEN, { 0 } };

enum { RUNS = TOOL_DESTROYS | TOOL_OPEN | TOOL_SPAWNS | TOOL_JSON | TOOL_LENIENT };

const struct tool inside_tools[] = {
	{ "exec_command", "Run a command in a sandbox",
		"Run a program in a sandbox and wait for it; returns stdout, stderr and exit_code. Long output is cut in the middle, and `truncated` tells "
		"how long it was",
		exec_args, RUNS, exec_command },
	{ "eval_code", "Run code in a sandbox", "Run a snippet in the interpreter of a sandbox and return what it printed, or its value; what it defines stays for the next snippet if the template's program keeps it", eval_args, RUNS, eval_code },
	{ 0 },
};

const struct tool ping_tools[] = {
	{ "ping_sandbox", "Ping a sandbox", "Ask the program inside a sandbox whether it answers", ping_args, TOOL_READS | TOOL_JSON | TOOL_LENIENT, ping_sandbox },
	{ 0 },
};
// clang-format on
