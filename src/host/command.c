#include "host/command.h"

#include <errno.h>

#include "base/file.h"
#include "base/url_secret.h"
#include "bounds.h"
#include "host/host.h"

enum {
	PROGRESS_SILENT_MS = 10000, /* a command that prints nothing still shows that it runs */
	FAILURE_MAX = PATH_MAX + 128,
	NO_SHELL = -ENOTSUP, /* no error of exec */
};

/* ---- putting it together ---- */

static void tick(struct timer *t);

static void failed(struct command *c, int err)
{
	if (c->bad == 0)
		c->bad = err;
}

static void open_captures(struct command *c)
{
	failed(c, capture_open(&c->out, host_max_output()));
	failed(c, capture_open(&c->err, host_max_output()));
}

void *command_new(struct job *j, size_t size)
{
	struct command *c = job_state(j, size);

	if (!c)
		return NULL;
	c->job = j;
	c->cwd = -1;
	c->tick.fire = tick;
	j->cleanup = command_cleanup;
	open_captures(c);
	return c;
}

void command_again(struct command *c)
{
	capture_close(&c->out);
	capture_close(&c->err);
	memset(c->argv, 0, c->n * sizeof(*c->argv));
	c->n = 0;
	c->told_out = c->told_err = 0;
	open_captures(c);
}

void command_cleanup(struct job *j)
{
	struct command *c = j->state;

	timer_clear(&c->tick);
	capture_close(&c->out);
	capture_close(&c->err);
	file_close(&c->cwd);
}

void command_arg(struct command *c, const char *word)
{
	if (c->n == COMMAND_ARGS_MAX)
		failed(c, -E2BIG);
	else
		c->argv[c->n++] = word;
}

void command_arg_slice(struct command *c, struct slice word)
{
	char *text = buf_alloc(&c->job->mem, word.n + 1);

	if (text)
		memcpy(text, word.p, word.n);
	else
		failed(c, -ENOMEM);
	command_arg(c, text);
}

void command_program(struct command *c, const char *name)
{
	failed(c, child_find(name, c->path, sizeof(c->path)));
	command_arg(c, name);
}

static int find_shell(char *mem, size_t size)
{
	static const char *const shells[] = { "/bin/bash", "/bin/sh" };
	int r = -ENOENT;

	for (size_t i = 0; i < 2 && r < 0; i++)
		r = child_find(shells[i], mem, size);
	return r;
}

bool command_has_shell(void)
{
	char mem[32];

	return find_shell(mem, sizeof(mem)) != -ENOENT;
}

/* "--": the line may begin with a dash. */
void command_shell(struct command *c, struct slice line)
{
	int r = find_shell(c->path, sizeof(c->path));

	failed(c, r == -ENOENT ? NO_SHELL : r);
	command_arg(c, c->path);
	command_arg(c, "-c");
	command_arg(c, "--");
	command_arg_slice(c, line);
}

/* ---- while it runs ---- */

/* Is there output that nobody has heard of? Its stream is then the one to show. */
static bool has_news(struct command *c)
{
	if (c->out.total > c->told_out)
		c->shown = &c->out;
	else if (c->err.total > c->told_err)
		c->shown = &c->err;
	else
		return false;
	return true;
}

/* More of the last line may come, and what came of it may have been too long to be kept. */
static struct slice without_secrets(const struct capture *c, struct slice line, struct buf *b)
{
	unsigned cut = CUT_END | (c->line_cut ? CUT_START : 0);
	bool masked;

	while (line.n > 0) {
		buf_slice(b, url_shown(&line, &cut, &masked));
		if (masked)
			buf_puts(b, URL_MASK);
	}
	return buf_all(b);
}

/* Time since the call began: it rises also when one command follows another. */
static void tell(struct command *c, int64_t now)
{
	struct job *j = c->job;
	char mem[4 * PROGRESS_TEXT_MAX];
	struct slice line = capture_last_line(c->shown);
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (c->hide_secrets)
		line = without_secrets(c->shown, line, &b);
	tool_progress(j, now - j->started, c->began - j->started + c->limit_ms, line);
}

/* News are told at once, silence from time to time. */
static void tick(struct timer *t)
{
	struct command *c = container_of(t, struct command, tick);
	struct job *j = c->job;
	int64_t now = loop_now();

	timer_set(t, PROGRESS_EVERY_MS);
	if (!has_news(c) && j->progress_last && now - j->progress_last < PROGRESS_SILENT_MS)
		return;
	tell(c, now);
	if (j->progress_last == now) {
		c->told_out = c->out.total;
		c->told_err = c->err.total;
	}
}

/* What comes after a command is not for a cancel to end. */
static void cancel_nothing(struct job *j)
{
	(void)j;
}

static void ended(struct child *child)
{
	struct command *c = container_of(child, struct command, child);

	timer_clear(&c->tick);
	if (c->after) {
		c->job->cancel = cancel_nothing;
		c->after(c);
	} else {
		job_wake(c->job);
	}
}

static void cancel(struct job *j)
{
	struct command *c = j->state;

	child_end(&c->child);
}

/* ---- starting ---- */

int command_start_as(struct command *c, struct child *child)
{
	child->path = c->path;
	child->argv = c->argv;
	child->env = c->env;
	child->kin = c->kin;
	child->cwd = c->cwd;
	return c->bad < 0 ? c->bad : child_start(child);
}

int command_start(struct command *c, int64_t limit_ms)
{
	int r;

	c->limit_ms = limit_ms;
	c->began = loop_now();
	c->shown = &c->out;
	c->child = (struct child){
		.limit_ms = limit_ms,
		.out = &c->out,
		.err = &c->err,
		.done = ended,
	};
	r = command_start_as(c, &c->child);
	if (r < 0)
		return r;
	c->job->cancel = cancel;
	if (tool_wants_progress(c->job))
		timer_set(&c->tick, PROGRESS_FIRST_MS);
	return 0;
}

enum step command_run(struct command *c, int64_t limit_ms, enum step (*next)(struct job *j))
{
	int r = command_start(c, limit_ms);

	return r < 0 ? command_fail(c, r) : job_wait(c->job, next);
}

enum step command_fail(struct command *c, int err)
{
	char mem[FAILURE_MAX];
	struct buf why;

	buf_over(&why, mem, sizeof(mem));
	command_put_failure(c, err, &why);
	return tool_fail(c->job, "%.*s", SLICE(buf_all(&why)));
}

void command_put_failure(const struct command *c, int err, struct buf *b)
{
	if (err == -ENOMEM)
		buf_puts(b, "no memory for the command: the server's budget is used up");
	else if (err == -E2BIG)
		buf_puts(b, "the command is too long for the kernel: write it to a file and run "
			    "that");
	else if (err == NO_SHELL)
		buf_puts(b, "no shell here: neither /bin/bash nor /bin/sh exists");
	else if (err == -ENOENT)
		buf_printf(b, "%s is not installed here", c->argv[0]);
	else
		buf_printf(b, "cannot start %s: %s", c->argv[0], strerror(-err));
}

/* ---- its output ---- */

bool command_failed(const struct command *c)
{
	return c->child.timed_out || c->child.status != 0;
}

void command_put_omitted(struct buf *b, uint64_t omitted, uint64_t total)
{
	buf_printf(b, "\n[... %llu bytes omitted of %llu ...]\n", (unsigned long long)omitted,
		(unsigned long long)total);
}

static char last_byte(const struct slice parts[3])
{
	for (int i = 2; i >= 0; i--)
		if (parts[i].n > 0)
			return parts[i].p[parts[i].n - 1];
	return '\n';
}

char command_put_output(struct job *j, const struct capture *c)
{
	char mem[OMITTED_MAX];
	struct buf marker;
	struct slice parts[3];
	uint64_t omitted = capture_parts(c, parts);

	buf_over(&marker, mem, sizeof(mem));
	if (omitted > 0)
		command_put_omitted(&marker, omitted, c->total);
	jw_text(&j->w, parts[0]);
	jw_text(&j->w, buf_all(&marker));
	jw_text(&j->w, parts[1]);
	jw_text(&j->w, parts[2]);
	return last_byte(parts);
}
