#include "host/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "bounds.h"

enum {
	MARK_LEN = 64,    /* of the line in the middle; fixed, so that the rest stays in place */
	LINE_LOOK = 4096, /* bytes searched for the end of a line where the text is cut */
	COMMAND_SHOWN = 200,
};

static char part[16 * KIB]; /* of the file, on its way */

static int64_t smaller(int64_t n, int64_t max)
{
	return n < max ? n : max;
}

/* ---- bytes at places ---- */

/* What could not be written is left in *s. */
static int put_some(struct output *o, struct slice *s, int64_t at)
{
	while (s->n > 0) {
		ssize_t n = pwrite(o->fd, s->p, s->n, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		*s = slice_from(*s, (size_t)n);
		at += n;
	}
	return 0;
}

static int put_at(struct output *o, struct slice s, int64_t at)
{
	return put_some(o, &s, at);
}

/* Up to n bytes of the file, in `part`. */
static struct slice look_at(struct output *o, int64_t at, int64_t n)
{
	ssize_t got = pread(o->fd, part, (size_t)smaller(n, sizeof(part)), at);

	return (struct slice){ part, got > 0 ? (size_t)got : 0 };
}

static int move_down(struct output *o, int64_t from, int64_t to)
{
	struct slice s;
	int r = 0;

	while (r == 0 && from < o->size) {
		s = look_at(o, from, o->size - from);
		if (s.n == 0)
			return -EIO;
		r = put_at(o, s, to);
		from += (int64_t)s.n;
		to += (int64_t)s.n;
	}
	if (r == 0 && ftruncate(o->fd, to) < 0)
		r = -errno;
	o->size = to;
	return r;
}

/* ---- making room ---- */

/* Where the last whole line before `at` ends, or at least the last whole character. */
static int64_t line_end_before(struct output *o, int64_t at, int64_t look)
{
	struct slice s = look_at(o, at - look, look);
	const char *end = memrchr(s.p, '\n', s.n);
	size_t n = end ? (size_t)(end - s.p) + 1 : utf8_whole(s).n;

	return at - (int64_t)(s.n - n);
}

/* Where the first whole line from `at` on begins, or at least the first whole character. */
static int64_t line_start_after(struct output *o, int64_t at, int64_t look)
{
	struct slice s = look_at(o, at, look);
	const char *end = memchr(s.p, '\n', s.n);

	return at + (int64_t)(end ? (size_t)(end - s.p) + 1 : utf8_rest(s));
}

static int put_mark(struct output *o)
{
	char mem[MARK_LEN];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "\n[... %llu bytes omitted ...]", (unsigned long long)o->omitted);
	while (b.len < MARK_LEN - 1)
		buf_putc(&b, ' ');
	buf_putc(&b, '\n');
	return put_at(o, buf_all(&b), o->head);
}

/* The older half of what follows the head goes. */
static int make_room(struct output *o)
{
	int64_t tail = o->head + MARK_LEN, keep, from;
	int r;

	if (o->omitted == 0) {
		o->head = line_end_before(o, o->head, smaller(LINE_LOOK, (o->head - o->start) / 2));
		tail = o->head;
	}
	keep = (o->max - o->head - MARK_LEN) / 2;
	from = line_start_after(o, o->size - keep, smaller(LINE_LOOK, keep / 2));
	o->omitted += (uint64_t)(from - tail);
	r = move_down(o, from, o->head + MARK_LEN);
	return r < 0 ? r : put_mark(o);
}

/* What did not get into the file is left in *s. */
static int append(struct output *o, struct slice *s)
{
	int r = 0;

	while (r == 0 && s->n > 0) {
		struct slice now = slice_head(*s, (size_t)(o->max - o->size)), left = now;

		if (now.n == 0) {
			r = make_room(o);
			continue;
		}
		r = put_some(o, &left, o->size);
		now.n -= left.n;
		if (now.n > 0)
			o->last = now.p[now.n - 1];
		o->size += (int64_t)now.n;
		*s = slice_from(*s, now.n);
	}
	return r;
}

/* ---- from outside ---- */

void output_in_memory(struct output *o, int err)
{
	*o = (struct output){ .fd = -1, .err = err };
}

/* The state line, empty yet, and the first line of the command. */
static int begin(struct output *o, struct slice command)
{
	char mem[OUTPUT_STATE_LEN + COMMAND_SHOWN + 16];
	const char *end = memchr(command.p, '\n', command.n);
	struct slice line = { command.p, end ? (size_t)(end - command.p) : command.n }, all;
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	memset(mem, ' ', OUTPUT_STATE_LEN - 1);
	b.len = OUTPUT_STATE_LEN - 1;
	buf_printf(&b, "\n$ %.*s%s\n", SLICE(utf8_whole(slice_head(line, COMMAND_SHOWN))),
		line.n > COMMAND_SHOWN || end ? " ..." : "");
	all = buf_all(&b);
	return append(o, &all);
}

int output_open(struct output *o, int dir, const char *name, struct slice command, int64_t max)
{
	int r, fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	output_in_memory(o, fd < 0 ? -errno : 0);
	if (fd < 0)
		return o->err;
	flock(fd, LOCK_EX | LOCK_NB);
	o->fd = fd;
	o->max = max;
	r = begin(o, command);
	o->start = o->size;
	o->head = o->start + (max - o->start) / 2;
	if (r < 0) {
		unlinkat(dir, name, 0);
		close(fd);
		output_in_memory(o, r);
	}
	return r;
}

static void keep(struct output *o, struct slice s)
{
	if (o->kept.total == 0 && capture_open(&o->kept, BACKGROUND_KEPT) < 0)
		o->kept.keep = 0; /* counted, at least */
	capture_put(&o->kept, s);
}

void output_put(struct output *o, struct slice s)
{
	o->total += s.n;
	if (o->err == 0)
		o->err = append(o, &s);
	if (s.n > 0)
		keep(o, s);
}

void output_state(struct output *o, struct slice state)
{
	char mem[OUTPUT_STATE_LEN];

	if (o->fd < 0)
		return;
	state = slice_head(state, sizeof(mem) - 1);
	memset(mem, ' ', sizeof(mem));
	memcpy(mem, state.p, state.n);
	mem[sizeof(mem) - 1] = '\n';
	(void)!put_at(o, (struct slice){ mem, sizeof(mem) }, 0);
}

/* What memory kept goes into the file after all, or stays where it is. */
static int append_kept(struct output *o)
{
	struct slice parts[3];
	uint64_t omitted = capture_parts(&o->kept, parts);
	char mem[MARK_LEN];
	struct buf mark;
	struct slice s;
	int r = append(o, &parts[0]);

	buf_over(&mark, mem, sizeof(mem));
	if (omitted > 0)
		buf_printf(&mark, "\n[... %llu bytes omitted ...]\n", (unsigned long long)omitted);
	s = buf_all(&mark);
	if (r == 0)
		r = append(o, &s);
	for (int i = 1; i < 3 && r == 0; i++)
		r = append(o, &parts[i]);
	return r;
}

void output_end(struct output *o, struct slice last_line)
{
	struct slice newline = LIT("\n");

	if (o->fd >= 0 && o->kept.total > 0) {
		o->err = append_kept(o);
		if (o->err == 0)
			capture_close(&o->kept);
	}
	if (o->fd >= 0 && o->err == 0 && o->last != '\n')
		o->err = append(o, &newline);
	if (o->fd >= 0 && o->err == 0)
		o->err = append(o, &last_line);
}

void output_close(struct output *o)
{
	file_close(&o->fd);
}

void output_drop(struct output *o)
{
	output_close(o);
	capture_close(&o->kept);
}
