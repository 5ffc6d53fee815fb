#include "host/background.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "host/host.h"
#include "host/path.h"
#include "host/state_dir.h"

static struct background table[BACKGROUND_MAX];
static uint64_t serials;
static bool stopping;

static struct background *table_end(void)
{
	return table + BACKGROUND_MAX;
}

/* ---- what is said about one ---- */

static void put_time(int64_t ms, struct buf *to)
{
	buf_printf(to, "%lld", (long long)(ms / 1000));
	if (ms < 10000)
		buf_printf(to, ".%lld", (long long)(ms % 1000 / 100));
	buf_puts(to, " s");
}

static void put_end(const struct background *b, struct buf *to)
{
	int code = child_exit_code(&b->child);

	buf_printf(to, "%s %d", code < 0 ? "signal" : "exit code", code < 0 ? -code : code);
}

void background_put_state(const struct background *b, struct buf *to)
{
	if (!b->exited) {
		buf_puts(to, "running for ");
		put_time(loop_now() - b->born, to);
		return;
	}
	put_end(b, to);
	buf_puts(to, " after ");
	put_time(b->died - b->born, to);
	if (!b->gone)
		buf_puts(to, "; a child still holds the output");
}

/* The first line of its file. */
static void write_state(struct background *b)
{
	char mem[OUTPUT_STATE_LEN];
	struct buf s;

	buf_over(&s, mem, sizeof(mem));
	buf_printf(&s, "[process %d, ", (int)b->pid);
	if (b->exited) {
		background_put_state(b, &s);
	} else {
		buf_puts(&s, "running since ");
		clock_put_iso(&s, b->since);
	}
	if (b->output.err)
		buf_printf(&s, "; rest in memory: %s", strerror(-b->output.err));
	buf_puts(&s, "]");
	output_state(&b->output, buf_all(&s));
}

void background_put_where(const struct background *b, struct buf *to)
{
	const struct output *o = &b->output;

	if (!b->file[0]) {
		buf_printf(to,
			"Its output is kept in memory (%s): workspace_info shows the last line, "
			"terminal_kill all that is kept.",
			strerror(-o->err));
		return;
	}
	buf_puts(to, "Its output is in ");
	output_dir_put(to, b->file);
	buf_printf(to, ", %s; the first line tells whether it runs.",
		b->readable ? "which file_read shows"
			    : "outside of the workspace root: show it with terminal_exec");
	if (o->err)
		buf_printf(to, " The rest of it is kept in memory (%s).", strerror(-o->err));
}

static void put_row(struct background *b, struct buf *to)
{
	struct slice last = b->output.err ? capture_last_line(&b->output.kept) : LIT("");

	buf_printf(to, "%d ", (int)b->pid);
	background_put_state(b, to);
	buf_printf(to, ", %llu bytes of output in ", (unsigned long long)b->output.total);
	if (b->file[0])
		output_dir_put(to, b->file);
	else
		buf_puts(to, "memory");
	if (last.n > 0)
		buf_printf(to, " (last line: %.*s)", SLICE(last));
	buf_printf(to, ": %s\n", b->command);
}

bool background_any(void)
{
	return serials > 0;
}

void background_put_list(struct buf *to)
{
	for (struct background *b = table; b < table_end(); b++)
		if (b->serial)
			put_row(b, to);
}

/* ---- what happens to one ---- */

static bool any_left(void)
{
	for (const struct background *b = table; b < table_end(); b++)
		if (b->serial && !b->gone)
			return true;
	return false;
}

static void log_end(const struct background *b)
{
	struct log_field fields[] = { { "pid", .number = b->pid },
		{ "exit_code", .number = child_exit_code(&b->child) }, { 0 } };

	log_event(LOG_INFO, "background process ended", fields);
}

static void got(struct child *c, struct slice bytes)
{
	struct background *b = container_of(c, struct background, child);
	int before = b->output.err;

	output_put(&b->output, bytes);
	if (b->output.err != before)
		write_state(b);
}

static void exited(struct child *c)
{
	struct background *b = container_of(c, struct background, child);

	b->exited = true;
	b->died = loop_now();
	write_state(b);
	log_end(b);
}

/* The last words, and the first line as it stays. */
static void close_file(struct background *b)
{
	char mem[64];
	struct buf s;

	buf_over(&s, mem, sizeof(mem));
	buf_putc(&s, '[');
	background_put_state(b, &s);
	buf_puts(&s, "]\n");
	output_end(&b->output, buf_all(&s));
	write_state(b);
	output_close(&b->output);
}

static void done(struct child *c)
{
	struct background *b = container_of(c, struct background, child);

	b->gone = true;
	if (!b->exited) /* stuck in the kernel: nobody will be told when it ends */
		exited(c);
	if (b->output.fd >= 0)
		close_file(b);
	if (stopping && !any_left())
		loop_stop(0);
}

/* ---- starting ---- */

struct background *background_new(void)
{
	struct background *found = NULL;

	for (struct background *b = table; b < table_end(); b++)
		if ((!b->serial || b->gone) && (!found || b->died < found->died))
			found = b;
	return found;
}

static void keep_command(struct background *b, struct slice line)
{
	struct slice s = utf8_whole(slice_head(line, sizeof(b->command) - 1));

	memcpy(b->command, s.p, s.n);
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ')
			b->command[i] = ' ';
}

/* The administrator may have put the state directory where clients cannot look. */
static bool is_readable(const char *file)
{
	char mem[PATH_MAX];
	struct place p;
	struct buf path;
	int r;

	buf_over(&path, mem, sizeof(mem));
	output_dir_put(&path, file);
	r = path_find(&p, buf_all(&path), 0);
	place_close(&p);
	return r == 0;
}

static int64_t file_bound(void)
{
	return host_max_output() < BACKGROUND_FILE ? (int64_t)host_max_output() : BACKGROUND_FILE;
}

static void open_output(struct background *b, struct slice line)
{
	int dir = output_dir_open();

	if (dir < 0) {
		state_dir_complain(dir);
		output_in_memory(&b->output, dir);
		return;
	}
	output_dir_name(b->file, b->pid);
	if (output_open(&b->output, dir, b->file, line, file_bound()) < 0)
		b->file[0] = '\0';
	else
		b->readable = is_readable(b->file);
	close(dir);
}

int background_start(struct background *b, struct command *c, struct slice line)
{
	struct child child = { .got = got, .exited = exited, .done = done };
	int r;

	if (b->serial)
		output_drop(&b->output);
	*b = (struct background){ .child = child };
	r = command_start_as(c, &b->child);
	if (r < 0)
		return r;
	b->pid = b->child.proc.pid;
	b->serial = ++serials;
	b->since = clock_unix();
	b->born = loop_now();
	keep_command(b, line);
	open_output(b, line);
	write_state(b);
	return 0;
}

struct background *background_find(int64_t pid)
{
	struct background *found = NULL;

	for (struct background *b = table; b < table_end(); b++)
		if (b->serial && b->pid == pid && (!found || b->serial > found->serial))
			found = b;
	return found;
}

/* ---- ending ---- */

/* A number is only signalled while the kernel cannot have given it to anybody else. */
int background_end(struct background *b)
{
	if (b->gone && !child_left_any(&b->child))
		return -ESRCH;
	if (b->child.proc.running && kill(b->pid, 0) < 0)
		return -errno;
	b->gone = false;
	child_end(&b->child);
	return 0;
}

static void stop_over(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

/* What even now is not gone is left to child_end_all; its file must not say that it runs. */
void background_stop(void)
{
	static struct timer limit = { .fire = stop_over };

	for (struct background *b = table; b < table_end(); b++)
		if (b->serial && !b->gone)
			child_end(&b->child);
	if (!any_left())
		return;
	stopping = true;
	timer_set(&limit, BACKGROUND_STOP_MS);
	loop_run();
	for (struct background *b = table; b < table_end(); b++)
		if (b->serial && !b->gone)
			output_state(&b->output, LIT("[killed at the end of the server]"));
}
