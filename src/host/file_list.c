/*
 * Listing a directory as `ls -la` does, made here: names are read, sorted when they fit in memory,
 * measured, put out.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bounds.h"
#include "host/dir_read.h"
#include "host/files.h"
#include "host/list_out.h"
#include "host/list_row.h"
#include "host/list_sort.h"
#include "host/list_tree.h"
#include "host/path.h"
#include "host/path_text.h"

enum { A_PATH, A_RECURSIVE };

// clang-format off
const struct arg file_list_args[] = {
	[A_PATH] = { "path", ARG_STR, 0, "Directory to list (or one file): absolute below the workspace root, or relative to it", ARG_DEFAULT_ROOT },
	[A_RECURSIVE] = { "recursive", ARG_BOOL, 0, "One path a line, five levels deep, at most 500 lines", "false" },
	{ 0 },
};
// clang-format on

struct list_state {
	struct place at;
	int fd; /* the directory */
	char *chunk;
	struct dir_read read;
	struct list_out out;
	struct row_form form;
	size_t mark;   /* where in the job's memory the names begin, each ended by NUL */
	bool in_order; /* the names fit and are sorted; else the directory is read again and again
			*/
	struct list_sort sort;
	size_t next;               /* in sort.names */
	size_t count, shown;       /* entries without "." and ".." */
	unsigned long long blocks; /* of 512 bytes */
};

static void list_cleanup(struct job *j)
{
	struct list_state *s = j->state;

	file_close(&s->fd);
	place_close(&s->at);
}

static enum step list_fail(struct job *j, int err)
{
	struct list_state *s = j->state;

	return path_fail(j, &s->at, arg_str(j, A_PATH), err);
}

static void list_rewind(struct list_state *s)
{
	s->next = 0;
	dir_start(&s->read, s->fd, s->chunk, LIST_CHUNK);
}

/* The next name in the order shown, NULL at the end. A directory that cannot be read on ends there.
 */
static const char *list_next(struct list_state *s)
{
	struct dir_entry e;

	if (s->in_order)
		return s->next < s->sort.n ? s->sort.names[s->next++] : NULL;
	return dir_next(&s->read, &e) > 0 ? e.name : NULL;
}

static void put_link_target(struct buf *b, int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0)
		return;
	buf_puts(b, " -> ");
	path_put_name(b, (struct slice){ target, (size_t)n });
}

/* False: the bound is reached. */
static bool list_row(struct job *j, const char *name, const struct stat *st)
{
	struct list_state *s = j->state;
	struct buf *b = &s->out.line;

	buf_cut(b, 0);
	row_put(&s->form, b, st);
	path_put_name(b, slice_of(name));
	if (S_ISLNK(st->st_mode))
		put_link_target(b, s->fd, name);
	return list_out_line(&s->out, j);
}

/* A directory that may be read but not entered gives names without status. */
static bool list_bare_row(struct job *j, const char *name)
{
	struct list_state *s = j->state;

	buf_cut(&s->out.line, 0);
	buf_puts(&s->out.line, "?????????? ? ? ? ?            ? ");
	path_put_name(&s->out.line, slice_of(name));
	return list_out_line(&s->out, j);
}

/* The text ends as that of ls does. */
static enum step list_said(struct job *j)
{
	jw_text(&j->w, LIT("\n"));
	return tool_end(j, false);
}

static enum step list_end(struct job *j)
{
	struct list_state *s = j->state;

	if (s->shown < s->count)
		jw_text_printf(
			&j->w, "\n... %zu more of %zu entries", s->count - s->shown, s->count);
	if (!s->in_order)
		jw_text(&j->w, LIT("\n(directory order: too many names to sort)"));
	return list_said(j);
}

static enum step list_rows(struct job *j)
{
	struct list_state *s = j->state;
	int64_t start = clock_ms();
	const char *name;
	struct stat st;
	size_t seen;
	bool fits;

	for (seen = 0; list_turn_left(start, seen); seen++) {
		name = list_next(s);
		if (!name)
			return list_end(j);
		if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			fits = list_row(j, name, &st);
		else
			fits = list_bare_row(j, name);
		if (!fits)
			return list_end(j);
		s->shown++;
	}
	return job_nap(j, 0, list_rows);
}

/* The parent of the root is not ours to look at: there ".." is the root once more, as in "/". */
static void stat_dots(const struct list_state *s, struct stat dots[2])
{
	bool root = strcmp(s->at.name, ".") == 0;

	if (fstat(s->fd, &dots[0]) < 0)
		memset(&dots[0], 0, sizeof(dots[0]));
	if (root || fstat(s->at.dir, &dots[1]) < 0)
		dots[1] = dots[0];
}

static enum step list_head(struct job *j)
{
	struct list_state *s = j->state;
	struct stat dots[2];
	int i;

	stat_dots(s, dots);
	for (i = 0; i < 2; i++) {
		row_measure(&s->form, &dots[i]);
		s->blocks += (unsigned long long)dots[i].st_blocks;
	}
	buf_cut(&s->out.line, 0);
	buf_printf(&s->out.line, "total %llu", s->blocks / 2);
	list_out_line(&s->out, j);
	list_row(j, ".", &dots[0]);
	list_row(j, "..", &dots[1]);
	list_rewind(s);
	return list_rows(j);
}

static enum step list_measure(struct job *j)
{
	struct list_state *s = j->state;
	int64_t start = clock_ms();
	const char *name;
	struct stat st;
	size_t seen;

	for (seen = 0; list_turn_left(start, seen); seen++) {
		name = list_next(s);
		if (!name)
			return list_head(j);
		if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		row_measure(&s->form, &st);
		s->blocks += (unsigned long long)st.st_blocks;
	}
	return job_nap(j, 0, list_measure);
}

static enum step list_order(struct job *j)
{
	struct list_state *s = j->state;

	if (!list_sort_more(&s->sort, SLICE_ENTRIES))
		return job_nap(j, 0, list_order);
	list_rewind(s);
	return list_measure(j);
}

/* All names are in memory: an array of pointers to them can be sorted. */
static enum step list_index(struct job *j)
{
	struct list_state *s = j->state;
	const char *name = j->mem.p + s->mark, **names;
	size_t i;

	names = buf_alloc(&j->mem, (s->count + 1) * sizeof(*names));
	if (!names) {
		s->in_order = false;
		buf_cut(&j->mem, s->mark);
		list_rewind(s);
		return list_measure(j);
	}
	for (i = 0; i < s->count; i++, name += strlen(name) + 1)
		names[i] = name;
	list_sort_start(&s->sort, names, s->count);
	return list_order(j);
}

/* Counts the names, and keeps them as long as they fit. */
static void list_take(struct job *j, const char *name)
{
	struct list_state *s = j->state;

	s->count++;
	if (!s->in_order)
		return;
	buf_put(&j->mem, name, strlen(name) + 1);
	s->in_order = !j->mem.failed;
	if (!s->in_order)
		buf_cut(&j->mem, s->mark);
}

static enum step list_names(struct job *j)
{
	struct list_state *s = j->state;
	int64_t start = clock_ms();
	struct dir_entry e;
	size_t seen;
	int r;

	for (seen = 0; list_turn_left(start, seen); seen++) {
		r = dir_next(&s->read, &e);
		if (r < 0)
			return list_fail(j, r);
		if (r > 0) {
			list_take(j, e.name);
			continue;
		}
		if (s->in_order)
			return list_index(j);
		list_rewind(s);
		return list_measure(j);
	}
	return job_nap(j, 0, list_names);
}

static enum step list_dir(struct job *j)
{
	struct list_state *s = j->state;

	s->fd = dir_open(s->at.dir, s->at.name);
	if (s->fd < 0)
		return list_fail(j, s->fd);
	s->chunk = buf_alloc(&j->mem, LIST_CHUNK);
	if (!s->chunk || list_out_start(&s->out, j) < 0)
		return tool_fail(j, "Error: not enough memory");
	s->mark = j->mem.len;
	s->in_order = true;
	list_rewind(s);
	return list_names(j);
}

/* One row with the full path. As with ls, a link to a file is shown itself. */
static enum step list_file(struct job *j)
{
	struct list_state *s = j->state;
	struct buf *b = &s->out.line;
	struct stat st;
	int r;

	place_close(&s->at);
	r = path_find(&s->at, arg_str(j, A_PATH), 0);
	if (r == 0 && fstatat(s->at.dir, s->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r < 0)
		return list_fail(j, r);
	if (list_out_start(&s->out, j) < 0)
		return tool_fail(j, "Error: not enough memory");
	row_measure(&s->form, &st);
	row_put(&s->form, b, &st);
	path_put_shown(b, s->at.shown);
	if (S_ISLNK(st.st_mode))
		put_link_target(b, s->at.dir, s->at.name);
	list_out_line(&s->out, j);
	return list_said(j);
}

enum step file_list(struct job *j)
{
	struct list_state *s;
	struct stat st;
	int r;

	if (arg_bool(j, A_RECURSIVE))
		return list_tree(j, arg_str(j, A_PATH));
	s = job_state(j, sizeof(*s));
	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->fd = s->at.dir = -1;
	s->form.now = clock_unix();
	j->cleanup = list_cleanup;
	r = path_find(&s->at, arg_str(j, A_PATH), PATH_FOLLOW);
	if (r == 0 && fstatat(s->at.dir, s->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r < 0)
		return list_fail(j, r);
	return S_ISDIR(st.st_mode) ? list_dir(j) : list_file(j);
}
