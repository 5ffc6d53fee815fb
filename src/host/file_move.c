/*
 * Moving: a rename where that can be done. Between file systems a worker copies to a temporary name
 * next to the destination, and only when the copy is whole and the source can go does it take its
 * name (fault 57).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "host/file_drop.h"
#include "host/file_meta.h"
#include "host/files.h"
#include "host/path.h"
#include "host/tree_copy.h"

enum { A_SOURCE, A_DEST };

// clang-format off
const struct arg file_move_args[] = {
	[A_SOURCE] = { "source", ARG_STR, ARG_REQUIRED, "File, link or directory to move", NULL },
	[A_DEST] = { "dest", ARG_STR, ARG_REQUIRED, "New path, or an existing directory to move it into", NULL },
	{ 0 },
};
// clang-format on

/* Where an error arose. */
enum { AT_SOURCE, AT_DEST, AT_REMOVAL };

enum { NO_REPLACE = 1 }; /* RENAME_NOREPLACE of linux/fs.h, which musl does not bring */

struct move_state {
	struct job *job;
	struct place src, dst;
	struct stat st; /* of the source */
	int into; /* directory descriptor the source is moved into, -1: dst.dir takes it under a new
		     name */
	char shown[2 * PATH_MAX]; /* the final path, for texts */
	int held;                 /* a large file that is being replaced, -1: none */
	struct file_drop drop;
	struct worker worker;
	int keep[4];
	struct timer tick;
	int stop[2];              /* a pipe; closing the writing end tells the worker to give up */
	char copy[FILE_TMP_NAME]; /* the copy's name until it is whole */
	char *chunk;
};

static void move_cleanup(struct job *j)
{
	struct move_state *s = j->state;

	timer_clear(&s->tick);
	file_close(&s->stop[0]);
	file_close(&s->stop[1]);
	file_close(&s->held);
	file_close(&s->into);
	place_close(&s->src);
	place_close(&s->dst);
}

static enum step move_fail(struct job *j, int where, int err)
{
	struct move_state *s = j->state;

	if (err == -EINVAL && S_ISDIR(s->st.st_mode))
		return tool_fail(j, "Error: Cannot move a directory '%s' into itself '%s'.",
			s->src.shown, s->dst.shown);
	if (err == -EEXIST && s->into >= 0)
		return tool_fail(j, "Error: Destination path '%s' already exists", s->shown);
	if (where == AT_REMOVAL)
		return tool_fail(j,
			"Error: %s: %s; it is copied to %s, but part of it could not be removed",
			s->src.shown, strerror(-err), s->shown);
	if (where == AT_DEST)
		return path_fail(j, &s->dst, arg_str(j, A_DEST), err);
	return path_fail(j, &s->src, arg_str(j, A_SOURCE), err);
}

static enum step move_said(struct job *j)
{
	struct move_state *s = j->state;

	return tool_printf(j, "Moved %s \xe2\x86\x92 %s", s->src.shown, s->shown);
}

static int dest_dir(const struct move_state *s)
{
	return s->into >= 0 ? s->into : s->dst.dir;
}

static const char *dest_name(const struct move_state *s)
{
	return s->into >= 0 ? s->src.name : s->dst.name;
}

/* A rename that replaces nothing. Old kernels and some file systems cannot do it at one stroke. */
static int rename_new(int from, const char *name, int to, const char *as)
{
	struct stat st;

	if (syscall(SYS_renameat2, from, name, to, as, NO_REPLACE) == 0)
		return 0;
	if (errno != ENOSYS && errno != EINVAL)
		return -errno;
	if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from, name, to, as) < 0 ? -errno : 0;
}

/* From where it lies to its final name: the source itself, or the whole copy of it. */
static int rename_to_dest(const struct move_state *s, int from, const char *name)
{
	if (s->into >= 0)
		return rename_new(from, name, s->into, dest_name(s));
	return renameat(from, name, s->dst.dir, s->dst.name) < 0 ? -errno : 0;
}

/*
 * The copy is whole. The source steps aside first, which shows that it may be removed; then the
 * copy takes its name, and only then is anything lost. overlayfs, which containers have, renames no
 * directory of a lower layer: that one goes from where it stands.
 */
static int move_swap(struct move_state *s, struct outcome *o)
{
	char tmp[FILE_TMP_NAME];
	const char *aside = tmp;
	int r;

	file_tmp_name(tmp);
	o->which = AT_SOURCE;
	if (renameat(s->src.dir, s->src.name, s->src.dir, tmp) < 0) {
		if (errno != EXDEV)
			return -errno;
		aside = s->src.name;
	}
	o->which = AT_DEST;
	r = rename_to_dest(s, dest_dir(s), s->copy);
	if (r == 0) {
		s->copy[0] = '\0';
		o->which = AT_REMOVAL;
		r = tree_remove(s->src.dir, aside);
	}
	if (r < 0 && aside == tmp)
		(void)rename_new(s->src.dir, tmp, s->src.dir, s->src.name);
	return r;
}

/* In the worker. */
static void move_work(struct worker *w, struct outcome *o)
{
	struct move_state *s = container_of(w, struct move_state, worker);
	struct tree_copy c = { .mem = &s->job->mem, .chunk = s->chunk, .stop = s->stop[0] };

	o->err = tree_changeable(s->src.dir);
	if (o->err == 0) {
		o->err = tree_copy(&c, s->src.dir, s->src.name, dest_dir(s), s->copy);
		o->which = c.at_copy ? AT_DEST : AT_SOURCE;
	}
	if (o->err == 0)
		o->err = move_swap(s, o);
	if (o->err < 0 && s->copy[0])
		(void)tree_remove(dest_dir(s), s->copy);
}

static void move_worked(struct worker *w)
{
	struct move_state *s = container_of(w, struct move_state, worker);

	timer_clear(&s->tick);
	job_wake(s->job);
}

/* Of a single file it is known how much of it is there. */
static void move_tick(struct timer *t)
{
	struct move_state *s = container_of(t, struct move_state, tick);
	char mem[96];
	struct stat st;
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_puts(&b, "copying to another file system");
	if (S_ISREG(s->st.st_mode) && fstatat(dest_dir(s), s->copy, &st, AT_SYMLINK_NOFOLLOW) == 0)
		buf_printf(&b, ": %lld of %lld bytes", (long long)st.st_size,
			(long long)s->st.st_size);
	tool_progress(s->job, loop_now() - s->job->started, 0, buf_all(&b));
	timer_set(t, PROGRESS_FIRST_MS);
}

/* The worker is asked, not killed: it removes what it has copied. */
static void move_cancel(struct job *j)
{
	struct move_state *s = j->state;

	file_close(&s->stop[1]);
}

static enum step move_copied(struct job *j)
{
	struct move_state *s = j->state;
	const struct outcome *o = &s->worker.outcome;

	if (o->err == -ECANCELED) /* killed from outside: what a single file leaves is still here */
		(void)unlinkat(dest_dir(s), s->copy, 0);
	return o->err < 0 ? move_fail(j, o->which, o->err)
			  : file_drop(j, &s->drop, &s->held, move_said);
}

static int move_worker(struct move_state *s)
{
	int r;

	if (pipe2(s->stop, O_CLOEXEC) < 0)
		return -errno;
	s->keep[0] = s->src.dir;
	s->keep[1] = dest_dir(s);
	s->keep[2] = s->stop[0];
	s->keep[3] = -1;
	s->worker = (struct worker){ .work = move_work, .done = move_worked, .keep = s->keep };
	r = worker_start(&s->worker);
	file_close(&s->stop[0]);
	return r;
}

/* What would fail in the end is found out before the long work. */
static enum step move_across(struct job *j)
{
	struct move_state *s = j->state;
	struct stat st;
	int r;

	if (fstatat(dest_dir(s), dest_name(s), &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (s->into >= 0)
			return move_fail(j, AT_DEST, -EEXIST);
		if (S_ISDIR(s->st.st_mode))
			return move_fail(j, AT_DEST, -ENOTDIR);
	}
	s->chunk = buf_alloc(&j->mem, READ_CHUNK);
	if (!s->chunk)
		return tool_fail(j, "Error: not enough memory");
	file_tmp_name(s->copy);
	r = move_worker(s);
	if (r < 0)
		return move_fail(j, AT_SOURCE, r);
	j->cancel = move_cancel;
	s->tick.fire = move_tick;
	if (tool_wants_progress(j))
		timer_set(&s->tick, PROGRESS_FIRST_MS);
	return job_wait(j, move_copied);
}

/* rename tells what is wrong, not with which of the two paths. */
static int blame(const struct move_state *s, int err)
{
	if (err == -ENOENT)
		return AT_SOURCE;
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return tree_changeable(s->src.dir) < 0 ? AT_SOURCE : AT_DEST;
	return AT_DEST;
}

static enum step move_rename(struct job *j)
{
	struct move_state *s = j->state;
	int r;

	if (s->into < 0)
		s->held = file_drop_hold(s->dst.dir, s->dst.name);
	r = rename_to_dest(s, s->src.dir, s->src.name);
	if (r == -EXDEV)
		return move_across(j);
	if (r < 0)
		return move_fail(j, blame(s, r), r);
	return file_drop(j, &s->drop, &s->held, move_said);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is the destination a directory, or a link to one, that the source goes into? 1, 0 or -errno. */
static int find_into(struct move_state *s, struct slice dest)
{
	struct stat st;
	int r = path_find(&s->dst, dest, PATH_FOLLOW);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (fstatat(s->dst.dir, s->dst.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode) || is_same(&st, &s->st))
		return 0;
	s->into = openat(s->dst.dir, s->dst.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->into < 0 ? -errno : 1;
}

/* Where it goes; a link there that does not lead to a directory is itself what is replaced. */
static int find_dest(struct move_state *s, struct slice dest)
{
	const char *name = strrchr(s->src.shown, '/') + 1;
	struct buf b;
	int r = find_into(s, dest);

	if (r < 0)
		return r;
	buf_over(&b, s->shown, sizeof(s->shown) - 1);
	if (r > 0) {
		buf_printf(&b, "%s/%s", s->dst.shown[1] ? s->dst.shown : "", name);
	} else {
		place_close(&s->dst);
		r = path_find(&s->dst, dest, PATH_PARENTS);
		buf_puts(&b, s->dst.shown);
	}
	s->shown[b.len] = '\0';
	return r < 0 ? r : 0;
}

static int find_source(struct move_state *s, struct slice source)
{
	int r = path_find(&s->src, source, 0);

	if (r == 0 && fstatat(s->src.dir, s->src.name, &s->st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}

enum step file_move(struct job *j)
{
	struct move_state *s = job_state(j, sizeof(*s));
	int r;

	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->job = j;
	s->src.dir = s->dst.dir = s->into = s->held = s->stop[0] = s->stop[1] = -1;
	j->cleanup = move_cleanup;
	r = find_source(s, arg_str(j, A_SOURCE));
	if (r < 0)
		return move_fail(j, AT_SOURCE, r);
	r = find_dest(s, arg_str(j, A_DEST));
	if (r < 0)
		return move_fail(j, AT_DEST, r);
	if (strcmp(s->src.name, ".") == 0)
		return move_fail(j, AT_SOURCE, -EINVAL);
	return move_rename(j);
}
