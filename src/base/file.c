#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "base/secret.h"
#include "base/str.h"

enum { PIPE_WAIT_MS = 5000 };

/* A pipe, as the shell's <(command) gives: is there something to read within the time? */
static int wait_for_pipe(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, PIPE_WAIT_MS) > 0 ? 0 : -ETIMEDOUT;
}

static int read_all(int fd, struct buf *b)
{
	char part[4096];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(fd, part, sizeof(part))) != 0) {
		if (n > 0)
			buf_put(b, part, (size_t)n);
		else if (errno == EAGAIN)
			r = wait_for_pipe(fd);
		else if (errno != EINTR)
			r = -errno;
		if (b->failed)
			r = -E2BIG;
	}
	secret_wipe(part, sizeof(part)); /* tokens and keys come this way, too */
	return r;
}

int read_file(const char *path, struct buf *b)
{
	/* O_NONBLOCK: a FIFO that nobody writes to is empty, not a reason to wait for ever */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = read_all(fd, b);
	close(fd);
	return r;
}

const char *file_error(int r)
{
	return r == -EMEDIUMTYPE ? "it is no regular file" : strerror(-r);
}

int write_all(int fd, struct slice s)
{
	ssize_t n;

	while (s.n > 0) {
		n = write(fd, s.p, s.n);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			s = slice_from(s, (size_t)n);
	}
	return 0;
}

void file_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

/* r is what a sync gave. A disk that is full or over its quota may say so only now. */
static int synced(int r)
{
	return r < 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP ? -errno : 0;
}

int sync_fd(int fd)
{
	return synced(fsync(fd));
}

int sync_all(int dir)
{
	return synced(syncfs(dir));
}

int create_file(const char *path, mode_t mode, struct slice text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode), r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, text);
	if (r == 0)
		r = sync_fd(fd);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}

/* The name is only safe on disk when its directory is. */
static int sync_directory(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct slice name = slash ? (struct slice){ path, (size_t)(slash - path) + 1 } : LIT(".");
	int fd, r = str_c(name, dir, sizeof(dir));

	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	r = sync_fd(fd);
	close(fd);
	return r;
}

/*
 * Whom a file is for, its owner or a group that alone may read it besides, must be able to read
 * what root puts in its place: a server reads its token and its key as another user.
 */
static int keep_readers(const char *temp, const char *path)
{
	bool shared;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	shared = (st.st_mode & (S_IRWXG | S_IRWXO)) == S_IRGRP;
	if (st.st_uid == geteuid() && !shared)
		return 0;
	if (lchown(temp, st.st_uid, st.st_gid) < 0)
		return errno == EPERM ? 0 : -errno;
	return shared && chmod(temp, S_IRUSR | S_IWUSR | S_IRGRP) < 0 ? -errno : 0;
}

/* path with a suffix that no other file has. */
static int temp_name(const char *path, char *out, size_t size)
{
	char hex[2 * 4 + 1];

	random_hex(hex, 4);
	return str_printf(out, size, "%s.%s", path, hex);
}

/* No device and no pipe loses its name to a file, nor does /dev/stdout, wherever that leads. */
static int replaceable(const char *path)
{
	static const char own[] = "/proc/self/";
	char target[sizeof(own)];
	ssize_t n = readlink(path, target, sizeof(target));
	bool other = n > 0 && str_starts((struct slice){ target, (size_t)n }, own);
	struct stat st;

	if (n < 0 && lstat(path, &st) == 0)
		other = !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
	return other ? -EMEDIUMTYPE : 0;
}

/* The new file beside the old one, ready to take its name; temp has PATH_MAX bytes. */
static int prepare(const struct new_file *f, char *temp)
{
	int r = replaceable(f->path);

	if (r == 0)
		r = temp_name(f->path, temp, PATH_MAX);
	if (r == 0)
		r = create_file(temp, f->mode, f->text);
	if (r < 0)
		return r;
	r = keep_readers(temp, f->path);
	if (r < 0)
		unlink(temp);
	return r;
}

static int put_in_place(const char *temp, const char *path)
{
	int r;

	if (rename(temp, path) == 0)
		return sync_directory(path);
	r = -errno;
	unlink(temp);
	return r;
}

int replace_file(const char *path, mode_t mode, struct slice text)
{
	char temp[PATH_MAX];
	struct new_file f = { path, mode, text };
	int r = prepare(&f, temp);

	return r < 0 ? r : put_in_place(temp, path);
}

int replace_pair(const struct new_file *first, const struct new_file *second)
{
	char temp[PATH_MAX], temp2[PATH_MAX];
	int r = prepare(first, temp);

	if (r < 0)
		return r;
	r = prepare(second, temp2);
	if (r < 0) {
		unlink(temp);
		return r;
	}
	r = put_in_place(temp, first->path);
	if (r == 0)
		return put_in_place(temp2, second->path);
	unlink(temp2);
	return r;
}
