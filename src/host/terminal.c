/*
 * The tools that run shell commands.
 */
#include <errno.h>
#include <unistd.h>

#include "bounds.h"
#include "host/host.h"
#include "host/path.h"
#include "loop/child.h"

enum {
	TIMED_OUT_CODE = 124,       /* of timeout(1) and of the reference */
	PROGRESS_SILENT_MS = 10000, /* a command that prints nothing still shows that it runs */
};

static const char held_note[] =
	"a background process still holds the output; what it writes from now on is dropped";

enum { A_COMMAND, A_CWD, A_TIMEOUT };

struct limit {
	int64_t ms;
	bool given;   /* by the client, not one of ours */
	bool lowered; /* from a longer one that was asked for */
};

/* One command of terminal_exec; lives in the job's memory. */
struct exec {
	struct job *job;
	struct child child;
	struct capture out, err;
	char shell[16];
	const char *argv[5];
	int cwd; /* -1: nothing open */
	struct limit limit;
	struct timer tick;
	uint64_t told_out, told_err; /* bytes of output at the last progress message */
	struct capture *shown;       /* the stream whose last line was told */
	int64_t began;
};

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

static char last_byte(const struct slice parts[3])
{
	for (int i = 2; i >= 0; i--)
		if (parts[i].n > 0)
			return parts[i].p[parts[i].n - 1];
	return '\n';
}

/* Gives the last byte, '\n' when there is no output. */
static char put_output(struct job *j, const struct capture *c)
{
	struct slice parts[3];
	uint64_t omitted = capture_parts(c, parts);

	jw_text(&j->w, parts[0]);
	if (omitted > 0)
		jw_text_printf(&j->w, "\n[... %llu bytes omitted of %llu ...]\n",
			(unsigned long long)omitted, (unsigned long long)c->total);
	jw_text(&j->w, parts[1]);
	jw_text(&j->w, parts[2]);
	return last_byte(parts);
}

static void put_stdout(struct job *j, const struct exec *e)
{
	if (e->out.total == 0)
		return;
	jw_text(&j->w, LIT("stdout:\n"));
	put_output(j, &e->out);
	jw_text(&j->w, LIT("\n\n"));
}

static void put_stderr(struct job *j, const struct exec *e)
{
	if (e->err.total == 0 && !e->child.timed_out)
		return;
	jw_text(&j->w, LIT("stderr:\n"));
	if (put_output(j, &e->err) != '\n' && e->child.timed_out)
		jw_text(&j->w, LIT("\n"));
	if (e->child.timed_out) {
		jw_text(&j->w, LIT("timeout after "));
		put_seconds(j, &e->limit);
		jw_text(&j->w, LIT("s"));
	}
	jw_text(&j->w, LIT("\n\n"));
}

static enum step exec_answer(struct job *j)
{
	const struct exec *e = j->state;
	int code = e->child.timed_out ? TIMED_OUT_CODE : child_exit_code(&e->child);

	tool_begin(j);
	put_stdout(j, e);
	put_stderr(j, e);
	jw_text_printf(&j->w, "exit_code: %d", code);
	tool_end(j, code != 0);
	if (e->limit.lowered)
		tool_note(j, "timeout was limited to %d s", EXEC_MAX_MS / 1000);
	if (e->child.held)
		tool_note(j, "%s", held_note);
	return STEP_DONE;
}

/* ---- while it runs ---- */

static void exec_ended(struct child *c)
{
	job_wake(container_of(c, struct exec, child)->job);
}

static void exec_cancel(struct job *j)
{
	struct exec *e = j->state;

	child_end(&e->child);
}

/* Is there output that nobody has heard of? Its stream is then the one to show. */
static bool has_news(struct exec *e)
{
	if (e->out.total > e->told_out)
		e->shown = &e->out;
	else if (e->err.total > e->told_err)
		e->shown = &e->err;
	else
		return false;
	return true;
}

/* News are told at once, silence from time to time. */
static void exec_tick(struct timer *t)
{
	struct exec *e = container_of(t, struct exec, tick);
	struct job *j = e->job;
	int64_t now = loop_now();

	timer_set(t, PROGRESS_EVERY_MS);
	if (!has_news(e) && j->progress_last && now - j->progress_last < PROGRESS_SILENT_MS)
		return;
	tool_progress(j, now - e->began, e->limit.ms, capture_last_line(e->shown));
	if (j->progress_last == now) {
		e->told_out = e->out.total;
		e->told_err = e->err.total;
	}
}

static void exec_cleanup(struct job *j)
{
	struct exec *e = j->state;

	timer_clear(&e->tick);
	capture_close(&e->out);
	capture_close(&e->err);
	if (e->cwd >= 0)
		close(e->cwd);
}

/* ---- starting ---- */

static bool find_shell(struct exec *e)
{
	return child_find("/bin/bash", e->shell, sizeof(e->shell)) == 0 ||
	       child_find("/bin/sh", e->shell, sizeof(e->shell)) == 0;
}

/* "--": a command may begin with a dash. False when there is no memory for it. */
static bool set_command(struct exec *e, struct slice command)
{
	char *text = buf_alloc(&e->job->mem, command.n + 1);

	if (!text)
		return false;
	memcpy(text, command.p, command.n);
	e->argv[0] = e->shell;
	e->argv[1] = "-c";
	e->argv[2] = "--";
	e->argv[3] = text;
	return true;
}

static struct exec *exec_new(struct job *j, const struct limit *limit)
{
	struct exec *e = job_state(j, sizeof(*e));

	if (!e)
		return NULL;
	e->job = j;
	e->cwd = -1;
	e->limit = *limit;
	e->tick.fire = exec_tick;
	e->shown = &e->out;
	e->began = loop_now();
	e->child = (struct child){
		.argv = e->argv,
		.path = e->shell,
		.limit_ms = limit->ms,
		.out = &e->out,
		.err = &e->err,
		.done = exec_ended,
	};
	j->cleanup = exec_cleanup;
	if (capture_open(&e->out, host_max_output()) < 0 ||
		capture_open(&e->err, host_max_output()) < 0)
		return NULL;
	return e;
}

static enum step exec_start(struct job *j, struct exec *e)
{
	int r;

	e->child.cwd = e->cwd;
	r = child_start(&e->child);
	if (r == -E2BIG)
		return tool_fail(j,
			"the command is too long for the kernel: write it to a file and run that");
	if (r < 0)
		return tool_fail(j, "cannot start %s: %s", e->shell, strerror(-r));
	j->cancel = exec_cancel;
	if (tool_wants_progress(j))
		timer_set(&e->tick, PROGRESS_FIRST_MS);
	return job_wait(j, exec_answer);
}

static enum step terminal_exec(struct job *j)
{
	struct limit limit;
	struct exec *e;
	struct place p;

	if (limit_of(j, &limit) < 0)
		return tool_fail(j, "Invalid arguments for %s: timeout: must not be negative",
			j->tool->name);
	e = exec_new(j, &limit);
	if (!e || !set_command(e, arg_str(j, A_COMMAND)))
		return tool_fail(j, "no memory for the command: the server's budget is used up");
	if (!find_shell(e))
		return tool_fail(j, "no shell here: neither /bin/bash nor /bin/sh exists");
	e->cwd = path_open_dir(&p, arg_str(j, A_CWD), true);
	if (e->cwd < 0)
		return path_fail(j, &p, arg_str(j, A_CWD), e->cwd);
	return exec_start(j, e);
}

// clang-format off
static const struct arg exec_args[] = {
	[A_COMMAND] = { "command", ARG_STR, ARG_REQUIRED, "Command line for bash -c (sh -c where there is no bash)", NULL },
	[A_CWD] = { "cwd", ARG_STR, ARG_NULL, "Directory to run it in, absolute or relative to the workspace root, made when missing; default: the root", NULL },
	[A_TIMEOUT] = { "timeout", ARG_SECONDS, ARG_NULL, "Seconds after which it is ended, 300 at most; default: 30", NULL },
	{ 0 },
};

const struct tool terminal_tools[] = {
	{ "terminal_exec", "Run a shell command",
		"Run a shell command and wait for it; returns stdout, stderr and the exit code. Standard input is empty. "
		"Long output is cut in the middle. At the time limit the command and all it started are ended, and the "
		"output so far is returned",
		exec_args, TOOL_DESTROYS | TOOL_OPEN | TOOL_SPAWNS, terminal_exec },
	{ 0 },
};
// clang-format on
