/*
 * The tools that run shell commands.
 */
#include <errno.h>

#include "bounds.h"
#include "host/background.h"
#include "host/host.h"
#include "host/path.h"

enum {
	TIMED_OUT_CODE = 124, /* of timeout(1) and of the reference */
};

static const char held_note[] =
	"a background process still holds the output; what it writes from now on is dropped";

enum { A_COMMAND, A_CWD, A_TIMEOUT };
enum { A_PID };

struct limit {
	int64_t ms;
	bool given;   /* by the client, not one of ours */
	bool lowered; /* from a longer one that was asked for */
};

/* One terminal_exec; lives in the job's memory. */
struct exec {
	struct command command;
	struct limit limit;
};

/* One terminal_kill, likewise. */
struct kill {
	struct background *b;
	uint64_t serial;
};

static enum step no_memory(struct job *j)
{
	return tool_fail(j, "no memory for the command: the server's budget is used up");
}

/* ---- time ---- */

/* A value below a millisecond must count as a time, not as the 0 that means the default. */
struct written {
	bool minus, nonzero;
};

static struct written as_written(struct slice number)
{
	struct written w = { 0 };

	for (size_t i = 0; i < number.n && number.p[i] != 'e' && number.p[i] != 'E'; i++) {
		w.minus |= number.p[i] == '-';
		w.nonzero |= number.p[i] >= '1' && number.p[i] <= '9';
	}
	return w;
}

/* 0 or -EINVAL for a negative one. 0 and null mean the default (decision 64). */
static int limit_of(const struct job *j, struct limit *l)
{
	struct written w = as_written(arg_raw(j, A_TIMEOUT));

	*l = (struct limit){ .ms = EXEC_DEFAULT_MS };
	if (!w.nonzero)
		return 0;
	if (w.minus)
		return -EINVAL;
	l->lowered = arg_num(j, A_TIMEOUT) > EXEC_MAX_MS;
	l->given = !l->lowered;
	l->ms = l->lowered ? EXEC_MAX_MS : arg_num(j, A_TIMEOUT);
	if (l->ms == 0)
		l->ms = 1;
	return 0;
}

/* As the reference shows it: a number that was given has a fraction, a number of ours has none. */
static void put_seconds(struct job *j, const struct limit *l)
{
	int s = (int)(l->ms / 1000), f = (int)(l->ms % 1000);

	jw_text_printf(&j->w, "%d", s);
	if (!l->given)
		return;
	if (f % 100 == 0)
		jw_text_printf(&j->w, ".%d", f / 100);
	else if (f % 10 == 0)
		jw_text_printf(&j->w, ".%02d", f / 10);
	else
		jw_text_printf(&j->w, ".%03d", f);
}

/* ---- the answer ---- */

static void put_stdout(struct job *j, const struct exec *e)
{
	if (e->command.out.total == 0)
		return;
	jw_text(&j->w, LIT("stdout:\n"));
	command_put_output(j, &e->command.out);
	jw_text(&j->w, LIT("\n\n"));
}

static void put_stderr(struct job *j, const struct exec *e)
{
	if (e->command.err.total == 0 && !e->command.child.timed_out)
		return;
	jw_text(&j->w, LIT("stderr:\n"));
	if (command_put_output(j, &e->command.err) != '\n' && e->command.child.timed_out)
		jw_text(&j->w, LIT("\n"));
	if (e->command.child.timed_out) {
		jw_text(&j->w, LIT("timeout after "));
		put_seconds(j, &e->limit);
		jw_text(&j->w, LIT("s"));
	}
	jw_text(&j->w, LIT("\n\n"));
}

static enum step exec_answer(struct job *j)
{
	const struct exec *e = j->state;
	int code = e->command.child.timed_out ? TIMED_OUT_CODE : child_exit_code(&e->command.child);

	tool_begin(j);
	put_stdout(j, e);
	put_stderr(j, e);
	jw_text_printf(&j->w, "exit_code: %d", code);
	tool_end(j, code != 0);
	if (e->limit.lowered)
		tool_note(j, "timeout was limited to %d s", EXEC_MAX_MS / 1000);
	if (e->command.child.held)
		tool_note(j, "%s", held_note);
	return STEP_DONE;
}

static enum step terminal_exec(struct job *j)
{
	struct limit limit;
	struct exec *e;
	struct place p;

	if (limit_of(j, &limit) < 0)
		return tool_fail(j, "Invalid arguments for %s: timeout: must not be negative",
			j->tool->name);
	e = command_new(j, sizeof(*e));
	if (!e)
		return no_memory(j);
	e->limit = limit;
	command_shell(&e->command, arg_str(j, A_COMMAND));
	e->command.cwd = path_open_dir(&p, arg_str(j, A_CWD), true);
	if (e->command.cwd < 0)
		return path_fail(j, &p, arg_str(j, A_CWD), e->command.cwd);
	return command_run(&e->command, limit.ms, exec_answer);
}

/* ---- in the background ---- */

static enum step note(struct job *j, const struct background *b,
	void (*put)(const struct background *b, struct buf *to))
{
	char mem[PATH_MAX + 512];
	struct buf text;

	buf_over(&text, mem, sizeof(mem));
	put(b, &text);
	return tool_note(j, "%.*s", SLICE(buf_all(&text)));
}

static enum step terminal_exec_background(struct job *j)
{
	struct background *b = background_new();
	struct command *c = b ? command_new(j, sizeof(*c)) : NULL;
	struct place p;
	int r;

	if (!b)
		return tool_fail(j,
			"%d processes run in the background, which is the most: end one with "
			"terminal_kill (workspace_info lists them)",
			BACKGROUND_MAX);
	if (!c)
		return no_memory(j);
	command_shell(c, arg_str(j, A_COMMAND));
	c->cwd = path_open_dir(&p, arg_str(j, A_CWD), true);
	if (c->cwd < 0)
		return path_fail(j, &p, arg_str(j, A_CWD), c->cwd);
	r = background_start(b, c, arg_str(j, A_COMMAND));
	if (r < 0)
		return command_fail(c, r);
	tool_printf(j, "PID: %d\nStarted background process %d", (int)b->pid, (int)b->pid);
	return note(j, b, background_put_where);
}

/* ---- ending what runs in the background ---- */

static void put_fate(const struct background *b, struct buf *to)
{
	buf_puts(to, "It ended: ");
	background_put_state(b, to);
	if (b->child.killed)
		buf_puts(to, "; SIGTERM was not enough, it got SIGKILL");
	if (b->child.held)
		buf_puts(to, "; somebody who could not be ended still holds its output");
}

/* Where its output is, and what of that memory alone has. */
static enum step tell_output(struct job *j, const struct background *b)
{
	note(j, b, background_put_where);
	if (!b->output.err || b->output.kept.total == 0)
		return STEP_DONE;
	tool_note_begin(j);
	command_put_output(j, &b->output.kept);
	return tool_note_end(j);
}

static enum step kill_look(struct job *j)
{
	const struct kill *k = j->state;
	const struct background *b = k->b;

	if (b->serial == k->serial && !b->gone)
		return job_nap(j, BACKGROUND_LOOK_MS, kill_look);
	tool_printf(j, "Sent SIGTERM to %lld", (long long)arg_num(j, A_PID));
	if (b->serial != k->serial)
		return STEP_DONE;
	note(j, b, put_fate);
	return tell_output(j, b);
}

static enum step kill_ended(struct job *j, const struct background *b)
{
	char mem[128];
	struct buf state;

	buf_over(&state, mem, sizeof(mem));
	background_put_state(b, &state);
	tool_fail(j, "No such process %d: it has ended, %.*s", (int)b->pid, SLICE(buf_all(&state)));
	return tell_output(j, b);
}

static enum step terminal_kill(struct job *j)
{
	struct background *b = background_find(arg_num(j, A_PID));
	struct kill *k = job_state(j, sizeof(*k));
	int r;

	if (!b)
		return tool_fail(j, "No such process %lld", (long long)arg_num(j, A_PID));
	if (!k)
		return no_memory(j);
	*k = (struct kill){ b, b->serial };
	r = background_end(b);
	if (r == -ESRCH)
		return kill_ended(j, b);
	if (r < 0)
		return tool_fail(j, "Permission denied killing %d: %s", (int)b->pid, strerror(-r));
	return kill_look(j);
}

// clang-format off
static const struct arg exec_args[] = {
	[A_COMMAND] = { "command", ARG_STR, ARG_REQUIRED, "Command line for bash -c (sh -c where there is no bash)", NULL },
	[A_CWD] = { "cwd", ARG_STR, ARG_NULL, "Directory to run it in, absolute or relative to the workspace root, made when missing; default: the root", NULL },
	[A_TIMEOUT] = { "timeout", ARG_SECONDS, ARG_NULL, "Seconds after which it is ended, 300 at most; default: 30", NULL },
	{ 0 },
};

static const struct arg background_args[] = {
	[A_COMMAND] = { "command", ARG_STR, ARG_REQUIRED, "Command line for bash -c (sh -c where there is no bash)", NULL },
	[A_CWD] = { "cwd", ARG_STR, ARG_NULL, "Directory to run it in, absolute or relative to the workspace root, made when missing; default: the root", NULL },
	{ 0 },
};

static const struct arg kill_args[] = {
	[A_PID] = { "pid", ARG_INT, ARG_REQUIRED, "Process id that terminal_exec_background gave", NULL },
	{ 0 },
};

const struct tool terminal_tools[] = {
	{ "terminal_exec", "Run a shell command",
		"Run a shell command and wait for it; returns stdout, stderr and the exit code. Standard input is empty. "
		"Long output is cut in the middle. At the time limit the command and all it started are ended, and the "
		"output so far is returned",
		exec_args, TOOL_DESTROYS | TOOL_OPEN | TOOL_SPAWNS, terminal_exec },
	{ "terminal_exec_background", "Start a command in the background",
		"Start a shell command that goes on running, such as a server or a watcher, and return its process id at once. "
		"What it prints goes to a file that is named in the answer and tells the exit status, too. "
		"It ends with terminal_kill, or with this server",
		background_args, TOOL_DESTROYS | TOOL_OPEN, terminal_exec_background },
	{ "terminal_kill", "End a background process",
		"End a process that terminal_exec_background started, with all it started itself: SIGTERM, SIGKILL a second "
		"later. Answers when it is gone, with its exit status",
		kill_args, TOOL_DESTROYS | TOOL_IDEMPOTENT, terminal_kill },
	{ 0 },
};
// clang-format on
