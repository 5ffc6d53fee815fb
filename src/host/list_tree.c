#include "host/list_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bounds.h"
#include "host/dir_read.h"
#include "host/list_out.h"
#include "host/list_sort.h"
#include "host/path.h"
#include "host/path_text.h"

/* A directory on the way down. */
struct level {
	int fd;
	struct list_top *top; /* kept for the next directory of this depth */
	size_t next;          /* in top */
	size_t path;          /* bytes of the line that are this directory's path */
};

struct tree_state {
	struct place at;
	struct slice given;
	struct list_out out;
	char *chunk;
	struct dir_read read;
	bool reading; /* the innermost directory's names are still coming */
	struct level level[LIST_DEPTH];
	int depth; /* levels in use */
	size_t lines;
	bool more;
};

static void tree_cleanup(struct job *j)
{
	struct tree_state *s = j->state;
	int i;

	for (i = 0; i < s->depth; i++)
		file_close(&s->level[i].fd);
	place_close(&s->at);
}

/* False: the answer is full. */
static bool tree_line(struct job *j)
{
	struct tree_state *s = j->state;

	s->more = s->lines == LIST_MAX || !list_out_line(&s->out, j);
	s->lines += !s->more;
	return !s->more;
}

/* Goes down into dir/name, whose path stands in the line. One that cannot be read is left out
 * without a word. */
static int tree_enter(struct job *j, int dir, const char *name)
{
	struct tree_state *s = j->state;
	struct level *l = &s->level[s->depth];
	int fd = dir_open(dir, name);

	if (fd < 0)
		return fd;
	if (!l->top)
		l->top = buf_alloc(&j->mem, sizeof(*l->top));
	if (!l->top) {
		close(fd);
		return -ENOMEM;
	}
	l->top->n = 0;
	l->fd = fd;
	l->next = 0;
	l->path = s->out.line.len;
	s->depth++;
	s->reading = true;
	dir_start(&s->read, fd, s->chunk, LIST_CHUNK);
	return 0;
}

/* One entry of the directory being read. */
static void tree_read(struct tree_state *s)
{
	struct list_top *top = s->level[s->depth - 1].top;
	struct dir_entry e;

	if (dir_next(&s->read, &e) > 0) {
		list_top_offer(top, e.name, e.type);
		return;
	}
	s->reading = false;
	list_top_sort(top);
}

static bool is_skipped(const char *name)
{
	return strcmp(name, "node_modules") == 0 || strcmp(name, ".git") == 0;
}

/* The next name of the innermost directory; false: the answer is full. */
static bool tree_name(struct job *j)
{
	struct tree_state *s = j->state;
	struct level *l = &s->level[s->depth - 1];
	const char *name = l->top->names[l->next];
	unsigned char type = list_top_type(l->top, l->next++);
	struct buf *b = &s->out.line;

	buf_cut(b, l->path);
	if (b->len > 1)
		buf_putc(b, '/'); /* the root "/" has one already */
	path_put_name(b, slice_of(name));
	if (!tree_line(j))
		return false;
	if ((type == DT_DIR || type == DT_UNKNOWN) && s->depth < LIST_DEPTH && !is_skipped(name))
		(void)tree_enter(j, l->fd, name);
	return true;
}

static enum step tree_end(struct job *j)
{
	struct tree_state *s = j->state;

	if (s->more)
		jw_text_printf(&j->w, "\n... more entries; only the first %zu are shown", s->lines);
	return tool_end(j, false);
}

static enum step tree_go(struct job *j)
{
	struct tree_state *s = j->state;
	int64_t start = clock_ms();
	struct level *l;
	size_t seen;

	for (seen = 0; list_turn_left(start, seen); seen++) {
		if (s->depth == 0)
			return tree_end(j);
		l = &s->level[s->depth - 1];
		if (s->reading) {
			tree_read(s);
		} else if (l->next < l->top->n) {
			if (!tree_name(j))
				return tree_end(j);
		} else {
			file_close(&l->fd);
			s->depth--;
		}
	}
	return job_nap(j, 0, tree_go);
}

/* The path itself comes first; if it is not a directory there is no more. */
static enum step tree_start(struct job *j, bool dir)
{
	struct tree_state *s = j->state;
	int r = 0;

	s->chunk = buf_alloc(&j->mem, LIST_CHUNK);
	if (!s->chunk || list_out_start(&s->out, j) < 0)
		return tool_fail(j, "Error: not enough memory");
	path_put_shown(&s->out.line, s->at.shown);
	tree_line(j);
	if (dir)
		r = tree_enter(j, s->at.dir, s->at.name);
	return r < 0 ? path_fail(j, &s->at, s->given, r) : tree_go(j);
}

enum step list_tree(struct job *j, struct slice path)
{
	struct tree_state *s = job_state(j, sizeof(*s));
	struct stat st;
	int r;

	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->given = path;
	s->at.dir = -1;
	j->cleanup = tree_cleanup;
	r = path_find(&s->at, path, PATH_FOLLOW);
	if (r == 0 && fstatat(s->at.dir, s->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r < 0 ? path_fail(j, &s->at, path, r) : tree_start(j, S_ISDIR(st.st_mode));
}
