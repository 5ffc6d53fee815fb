/*
 * Reading a file, whole or by lines, in slices: a large file never holds the loop up.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "host/file_kind.h"
#include "host/files.h"
#include "host/host.h"
#include "host/line_range.h"
#include "host/path.h"

enum { A_PATH, A_OFFSET, A_LIMIT };

// clang-format off
const struct arg file_read_args[] = {
	[A_PATH] = { "path", ARG_STR, ARG_REQUIRED, "File to read: absolute below the workspace root, or relative to it", NULL },
	[A_OFFSET] = { "offset", ARG_INT, ARG_NULL, "First line to show, counted from 1; negative counts from the end (-20: the last 20 lines)", NULL },
	[A_LIMIT] = { "limit", ARG_INT, ARG_NULL, "Number of lines to show; all to the end when left out", NULL },
	{ 0 },
};
// clang-format on

struct read_state {
	struct place at;
	int fd;
	int64_t size;
	int64_t pos; /* of the next byte to look at */
	char *mem;
	size_t chunk; /* its bytes: how much is read at once */
	struct line_range range;
	int64_t limit; /* lines wanted, INT64_MAX: all */
	int64_t back;  /* lines to go back from the end, 0: the range counts from the start */
	bool ended;    /* the end of the file was seen: the number of lines is known */
	enum step (*then)(struct job *j); /* what follows the counting of lines */
};

static void read_cleanup(struct job *j)
{
	struct read_state *s = j->state;

	file_close(&s->fd);
	place_close(&s->at);
}

static enum step read_fail(struct job *j, int err)
{
	struct read_state *s = j->state;

	return path_fail(j, &s->at, arg_str(j, A_PATH), err);
}

/* FIFOs and devices are recognised before they are opened, and again after, should somebody have
 * changed the name. */
static int open_regular(struct read_state *s)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;

	if (fstatat(s->at.dir, s->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode)) {
		s->fd = openat(s->at.dir, s->at.name, flags);
		if (s->fd < 0 || fstat(s->fd, &st) < 0)
			return -errno;
	}
	s->size = st.st_size;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) ? 0 : -EMEDIUMTYPE;
}

/* The next part of the file, empty at its end. 0 or -errno. */
static int read_part(struct read_state *s, struct slice *part)
{
	ssize_t n = pread(s->fd, s->mem, s->chunk, s->pos);

	if (n < 0)
		return -errno;
	s->ended = n == 0;
	s->pos += n;
	*part = (struct slice){ s->mem, (size_t)n };
	return 0;
}

/* Counts lines to the end of the file, then goes on with s->then. */
static enum step read_count(struct job *j)
{
	struct read_state *s = j->state;
	size_t seen = 0;
	struct slice part;
	int r;

	for (; !s->ended && seen < SLICE_BYTES; seen += part.n) {
		r = read_part(s, &part);
		if (r < 0)
			return read_fail(j, r);
		range_feed(&s->range, part);
	}
	return s->ended ? s->then(j) : job_nap(j, 0, read_count);
}

static enum step count_first(struct job *j, enum step (*then)(struct job *j))
{
	struct read_state *s = j->state;

	range_start(&s->range, INT64_MAX, 0, 0);
	s->then = then;
	return read_count(j);
}

static enum step fail_counted(struct job *j)
{
	struct read_state *s = j->state;

	return tool_fail(j,
		"Error: %s: file of %lld bytes (%lld lines) is over the limit of %zu bytes;"
		" ask for a part with offset and limit",
		s->at.shown, (long long)s->size, (long long)range_lines(&s->range),
		host_max_output());
}

static enum step fail_large(struct job *j)
{
	struct read_state *s = j->state;

	if (s->size <= (int64_t)host_max_output()) /* it grew, or is of the kind that has no size */
		return tool_fail(j,
			"Error: %s: file is over the limit of %zu bytes; ask for a part with offset"
			" and limit",
			s->at.shown, host_max_output());
	if (s->size <= COUNT_MAX)
		return count_first(j, fail_counted);
	return tool_fail(j,
		"Error: %s: file of %lld bytes is over the limit of %zu bytes; ask for a part with"
		" offset and limit",
		s->at.shown, (long long)s->size, host_max_output());
}

/* "Lines 3-4 of 9", or as much of it as is known. */
static void note_lines(struct job *j, struct buf *b)
{
	struct read_state *s = j->state;
	struct line_range *g = &s->range;
	long long back = s->back, first = g->first, last = g->last;

	if (back == 0)
		buf_printf(b, "Lines %lld-%lld", first, last);
	else if (s->limit >= back)
		buf_printf(b, "Last %lld lines", back);
	else
		buf_printf(b, "Lines %lld to %lld", -back, last - 1 - back);
	if (back == 0 && s->ended)
		buf_printf(b, " of %lld", (long long)range_lines(g));
	else
		buf_printf(b, "; the file has %lld bytes", (long long)s->size);
	if (g->cut)
		buf_printf(b, "; cut at %zu bytes, continue with offset %lld", host_max_output(),
			(long long)(back ? g->resume - 1 - back : g->resume));
}

static bool all_shown(const struct read_state *s)
{
	const struct line_range *g = &s->range;

	return s->ended && !s->back && !g->cut && g->first <= 1 && g->last == range_lines(g);
}

static enum step read_end(struct job *j)
{
	struct read_state *s = j->state;
	struct line_range *g = &s->range;
	char mem[256];
	struct buf b;
	size_t bad;

	if (g->cut && !arg_given(j, A_OFFSET) && !arg_given(j, A_LIMIT))
		return fail_large(j);
	tool_end(j, false);
	bad = j->w.repaired; /* the next block counts anew */
	buf_over(&b, mem, sizeof(mem));
	if (g->first == 0 && g->from > 1)
		buf_printf(&b, "Lines 0 of %lld: offset %lld is past the end",
			(long long)range_lines(g), (long long)arg_num(j, A_OFFSET));
	else if (!all_shown(s))
		note_lines(j, &b);
	if (b.len > 0)
		tool_note(j, "%.*s", SLICE(buf_all(&b)));
	if (bad > 0)
		tool_note(j, "%zu invalid UTF-8 sequences are shown as U+FFFD", bad);
	return STEP_DONE;
}

/* Shows what is wanted and goes on to the end, if that is not too far, for the number of lines. */
static enum step read_show(struct job *j)
{
	struct read_state *s = j->state;
	bool whole = !arg_given(j, A_OFFSET) && !arg_given(j, A_LIMIT);
	size_t seen = 0;
	struct slice part;
	int r;

	for (; !s->ended && seen < SLICE_BYTES; seen += part.n) {
		if (range_done(&s->range) && (whole || s->back || s->size > COUNT_MAX))
			return read_end(j);
		r = read_part(s, &part);
		if (r < 0)
			return read_fail(j, r);
		jw_text(&j->w, range_feed(&s->range, part));
	}
	return s->ended ? read_end(j) : job_nap(j, 0, read_show);
}

static enum step show_from(struct job *j, int64_t line)
{
	struct read_state *s = j->state;

	s->ended = false;
	range_start(&s->range, line, s->limit, host_max_output());
	tool_begin(j);
	return read_show(j);
}

/* The number of lines is known: counting back becomes counting from the start. */
static enum step show_last(struct job *j)
{
	struct read_state *s = j->state;
	int64_t lines = range_lines(&s->range), from = lines - s->back + 1;

	s->back = 0;
	s->pos = 0;
	return show_from(j, from > 1 ? from : 1);
}

/* Goes back over one part; the start of the lines wanted, or -1. range.line counts the line ends
 * met. */
static int64_t back_over(struct read_state *s, size_t n)
{
	const char *end;
	bool at_end = s->pos + (int64_t)n == s->size;

	if (at_end && s->mem[n - 1] == '\n')
		n--; /* ends the last line, begins none */
	while (n > 0 && (end = memrchr(s->mem, '\n', n))) {
		n = (size_t)(end - s->mem);
		if (++s->range.line > s->back)
			return s->pos + (int64_t)n + 1;
	}
	return -1;
}

/* Looks for the start of the last lines of a file too large for counting, from its end. */
static enum step read_back(struct job *j)
{
	struct read_state *s = j->state;
	int64_t start = -1;
	size_t seen;
	ssize_t n;

	for (seen = 0; start < 0 && s->pos > 0 && seen < SLICE_BYTES; seen += s->chunk) {
		n = s->pos < (int64_t)s->chunk ? (ssize_t)s->pos : (ssize_t)s->chunk;
		s->pos -= n;
		if (pread(s->fd, s->mem, (size_t)n, s->pos) != n)
			return read_fail(j, -EIO);
		start = back_over(s, (size_t)n);
	}
	if (start < 0 && s->pos > 0)
		return job_nap(j, 0, read_back);
	if (start < 0)
		s->back = s->range.line; /* there are no more lines than that */
	s->pos = start < 0 ? 0 : start;
	return show_from(j, 1);
}

static enum step read_range(struct job *j)
{
	struct read_state *s = j->state;
	int64_t offset = arg_given(j, A_OFFSET) ? arg_num(j, A_OFFSET) : 1;

	s->limit = arg_given(j, A_LIMIT) ? arg_num(j, A_LIMIT) : INT64_MAX;
	if (offset > 0)
		return show_from(j, offset);
	s->back = offset == INT64_MIN ? INT64_MAX : -offset;
	if (s->size <= COUNT_MAX)
		return count_first(j, show_last);
	range_start(&s->range, 1, 0, 0);
	s->pos = s->size;
	return read_back(j);
}

static enum step read_opened(struct job *j)
{
	struct read_state *s = j->state;
	ssize_t n = pread(s->fd, s->mem, KIND_BYTES, 0);
	const char *kind;

	if (n < 0)
		return read_fail(j, -errno);
	kind = file_kind((struct slice){ s->mem, (size_t)n });
	if (kind)
		return tool_fail(j, "Error: %s: binary file (%s), %lld bytes", s->at.shown, kind,
			(long long)s->size);
	if (arg_given(j, A_OFFSET) || arg_given(j, A_LIMIT))
		return read_range(j);
	if (s->size > (int64_t)host_max_output())
		return fail_large(j);
	s->limit = INT64_MAX;
	return show_from(j, 1);
}

enum step file_read(struct job *j)
{
	struct read_state *s;
	int r;

	if (arg_given(j, A_OFFSET) && arg_num(j, A_OFFSET) == 0)
		return tool_fail(j, "Invalid arguments for file_read: offset: must not be 0");
	if (arg_given(j, A_LIMIT) && arg_num(j, A_LIMIT) < 1)
		return tool_fail(j, "Invalid arguments for file_read: limit: must be at least 1");
	s = job_state(j, sizeof(*s));
	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->fd = s->at.dir = -1;
	j->cleanup = read_cleanup;
	r = path_find(&s->at, arg_str(j, A_PATH), PATH_FOLLOW);
	if (r == 0)
		r = open_regular(s);
	if (r < 0)
		return read_fail(j, r);
	s->chunk = s->size < KIND_BYTES ? KIND_BYTES : READ_CHUNK;
	s->mem = buf_alloc(&j->mem, s->chunk);
	return s->mem ? read_opened(j) : tool_fail(j, "Error: not enough memory");
}
