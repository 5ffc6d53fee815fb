/*
 * Writing a file (decision 27): into a temporary file in the same directory, which is synced and
 * then takes the name. A reader sees the old file or the new one, a full disk leaves the old one.
 * Where a new file under the old name would break something (another hard link, a file mounted
 * there, a directory we may not change) the old one is written in place, and only then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "host/file_drop.h"
#include "host/file_meta.h"
#include "host/files.h"
#include "host/path.h"

enum { A_PATH, A_CONTENT };

// clang-format off
const struct arg file_write_args[] = {
	[A_PATH] = { "path", ARG_STR, ARG_REQUIRED, "File to write: absolute below the workspace root, or relative to it", NULL },
	[A_CONTENT] = { "content", ARG_STR, ARG_REQUIRED | ARG_NUL, "The whole new content, written as UTF-8 exactly as given", NULL },
	{ 0 },
};
// clang-format on

struct write_state {
	struct job *job;
	struct place at;
	struct stat st;          /* of the file that is there */
	int old;                 /* that file; -1: none */
	bool old_writable;       /* false: a program that runs, open for reading only */
	int out;                 /* the temporary file; -1 while the old one is written in place */
	char tmp[FILE_TMP_NAME]; /* its name; "": none to be removed */
	struct worker worker;
	int keep[3];
	struct file_drop drop;
};

static void write_cleanup(struct job *j)
{
	struct write_state *s = j->state;

	if (s->tmp[0])
		unlinkat(s->at.dir, s->tmp, 0);
	file_close(&s->out);
	file_close(&s->old);
	place_close(&s->at);
}

static enum step write_fail(struct job *j, int err)
{
	struct write_state *s = j->state;

	return path_fail(j, &s->at, arg_str(j, A_PATH), err);
}

static int write_bytes(int fd, struct slice rest, off_t at)
{
	ssize_t n;

	while (rest.n > 0) {
		n = pwrite(fd, rest.p, rest.n, at);
		if (n < 0)
			return -errno;
		at += n;
		rest = slice_from(rest, (size_t)n);
	}
	return 0;
}

/*
 * What a full disk or a quota can refuse comes first, while the old bytes are all there: room,
 * where the file system can set it aside, and what stands behind their end.
 */
static int make_room(struct write_state *s, struct slice content, size_t old)
{
	struct slice more = slice_from(content, old);
	int r = 0;
	bool sure =
		content.n == 0 || fallocate(s->old, FALLOC_FL_KEEP_SIZE, 0, (off_t)content.n) == 0;

	if (!sure && (errno == ENOSPC || errno == EDQUOT))
		r = -errno;
	if (r == 0)
		r = write_bytes(s->old, more, (off_t)old);
	if (r == 0 && !sure && more.n > 0)
		r = sync_fd(s->old);
	if (r < 0)
		(void)!ftruncate(s->old, s->st.st_size);
	return r;
}

static int write_in_place(struct write_state *s, struct slice content)
{
	bool grows = s->st.st_size < (off_t)content.n;
	size_t old = grows ? (size_t)s->st.st_size : content.n;
	int r = s->old_writable ? make_room(s, content, old) : -ETXTBSY;

	if (r < 0)
		return r;
	r = write_bytes(s->old, slice_head(content, old), 0);
	if (r == 0 && ftruncate(s->old, (off_t)content.n) < 0)
		r = -errno;
	if (r == 0 && (s->st.st_mode & (S_ISUID | S_ISGID)))
		(void)fchmod(s->old, s->st.st_mode & 0777);
	return r < 0 ? r : sync_fd(s->old);
}

static int write_new(struct write_state *s, struct slice content)
{
	int r = write_bytes(s->out, content, 0);

	if (r == 0 && s->old >= 0)
		r = meta_copy(s->old, &s->st, s->out, 0, &s->job->mem);
	return r < 0 ? r : sync_fd(s->out);
}

/* Everything that takes long: in the loop for small content, else in a worker. */
static int write_content(struct write_state *s)
{
	struct slice content = arg_str(s->job, A_CONTENT);

	return s->out >= 0 ? write_new(s, content) : write_in_place(s, content);
}

static void write_work(struct worker *w, struct outcome *o)
{
	o->err = write_content(container_of(w, struct write_state, worker));
}

static void write_worked(struct worker *w)
{
	job_wake(container_of(w, struct write_state, worker)->job);
}

/* A file half written in place would be the worst outcome of a cancel: then the work goes on,
 * unheard. */
static void write_cancel(struct job *j)
{
	struct write_state *s = j->state;

	if (s->out >= 0)
		worker_end(&s->worker);
}

static enum step write_ended(struct job *j, int err);

static enum step write_resumed(struct job *j)
{
	struct write_state *s = j->state;

	return write_ended(j, s->worker.outcome.err);
}

static enum step write_start(struct job *j)
{
	struct write_state *s = j->state;
	int r;

	if (arg_str(j, A_CONTENT).n <= FSYNC_INLINE_MAX)
		return write_ended(j, write_content(s));
	s->keep[0] = s->out >= 0 ? s->out : s->old;
	s->keep[1] = s->old >= 0 ? s->old : -1;
	s->keep[2] = -1;
	s->worker = (struct worker){ .work = write_work, .done = write_worked, .keep = s->keep };
	r = worker_start(&s->worker);
	if (r < 0)
		return write_fail(j, r);
	j->cancel = write_cancel;
	return job_wait(j, write_resumed);
}

static enum step write_said(struct job *j)
{
	struct write_state *s = j->state;

	return tool_printf(j, "Written %zu bytes to %s", arg_str(j, A_CONTENT).n, s->at.shown);
}

/* A mounted file cannot be replaced (EBUSY), nor another user's in a sticky directory (EPERM). */
static bool must_be_in_place(int err)
{
	return err == -EBUSY || err == -EPERM || err == -EACCES || err == -EROFS;
}

static enum step write_in_place_start(struct job *j)
{
	struct write_state *s = j->state;

	if (s->tmp[0])
		unlinkat(s->at.dir, s->tmp, 0);
	s->tmp[0] = '\0';
	file_close(&s->out);
	return write_start(j);
}

/* The bytes are on the disk, or err says why not. */
static enum step write_ended(struct job *j, int err)
{
	struct write_state *s = j->state;

	if (err < 0)
		return write_fail(j, err);
	if (s->out < 0)
		return write_said(j);
	if (renameat(s->at.dir, s->tmp, s->at.dir, s->at.name) < 0) {
		err = -errno;
		return s->old >= 0 && must_be_in_place(err) ? write_in_place_start(j)
							    : write_fail(j, err);
	}
	s->tmp[0] = '\0';
	return file_drop(j, &s->drop, &s->old, write_said);
}

/* Opens the file that is there, for its permission check, its metadata and for writing in place. */
static int open_old(struct write_state *s)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	if (fstatat(s->at.dir, s->at.name, &s->st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(s->st.st_mode))
		return -EISDIR;
	if (!S_ISREG(s->st.st_mode))
		return -EMEDIUMTYPE;
	s->old = openat(s->at.dir, s->at.name, O_WRONLY | flags);
	s->old_writable = s->old >= 0;
	if (s->old < 0 && errno == ETXTBSY)
		s->old = openat(s->at.dir, s->at.name, O_RDONLY | flags);
	if (s->old < 0 || fstat(s->old, &s->st) < 0)
		return -errno;
	return S_ISREG(s->st.st_mode) ? 0 : -EMEDIUMTYPE;
}

/* Nobody else may look into the new file before it has the permissions of the old one. */
static int open_tmp(struct write_state *s)
{
	file_tmp_name(s->tmp);
	s->out = openat(s->at.dir, s->tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		s->old >= 0 ? 0600 : 0666);
	if (s->out >= 0)
		return 0;
	s->tmp[0] = '\0';
	return -errno;
}

enum step file_write(struct job *j)
{
	struct write_state *s = job_state(j, sizeof(*s));
	int r;

	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->job = j;
	s->old = s->out = s->at.dir = -1;
	j->cleanup = write_cleanup;
	r = path_find(&s->at, arg_str(j, A_PATH), PATH_FOLLOW | PATH_PARENTS);
	if (r == 0)
		r = open_old(s);
	if (r == 0 && (s->old < 0 || s->st.st_nlink <= 1))
		r = open_tmp(s);
	if (s->old >= 0 && must_be_in_place(r))
		r = 0;
	return r < 0 ? write_fail(j, r) : write_start(j);
}
