#include "host/tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "host/dir_read.h"
#include "host/file_meta.h"

enum {
	TREE_DEPTH_MAX = 256, /* two descriptors and 5 KiB of stack a level */
	TREE_CHUNK = 4 * KIB, /* directory entries read at once */
	STAT_BLOCK = 512,     /* unit of st_blocks */
};

/* One thing to be copied. */
struct item {
	int from;
	const char *name;
	int to;
	const char *as;
	int depth;
	struct stat st;
};

int tree_changeable(int dir)
{
	return syscall(SYS_faccessat, dir, ".", W_OK | X_OK) < 0 ? -errno : 0;
}

static bool is_stopped(const struct tree_copy *c)
{
	struct pollfd p = { .fd = c->stop, .events = POLLIN };

	return c->stop >= 0 && poll(&p, 1, 0) > 0;
}

static int at_copy(struct tree_copy *c)
{
	c->at_copy = true;
	return -errno;
}

static bool is_zero(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* Holes of a sparse file stay holes. */
static int put_chunk(int out, struct slice part, bool sparse)
{
	if (sparse && is_zero(part.p, part.n))
		return lseek(out, (off_t)part.n, SEEK_CUR) < 0 ? -errno : 0;
	return write_all(out, part);
}

static int copy_bytes(struct tree_copy *c, int in, int out, bool sparse)
{
	off_t size = 0;
	ssize_t n;

	for (;;) {
		if (is_stopped(c))
			return -ECANCELED;
		n = read(in, c->chunk, READ_CHUNK);
		if (n < 0)
			return -errno;
		if (n == 0)
			return sparse && ftruncate(out, size) < 0 ? at_copy(c) : 0;
		size += n;
		if (put_chunk(out, (struct slice){ c->chunk, (size_t)n }, sparse) < 0)
			return at_copy(c);
	}
}

static int finish_file(struct tree_copy *c, const struct item *it, int in, int out)
{
	int r = meta_copy(in, &it->st, out, META_TIMES | META_SET_ID, c->mem);

	c->at_copy = c->at_copy || r < 0;
	if (r == 0 && it->depth == 0) {
		r = sync_fd(out);
		c->at_copy = r < 0;
	}
	return r;
}

static int copy_file(struct tree_copy *c, struct item *it)
{
	int in, out = -1, r = 0;

	in = openat(it->from, it->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (in < 0 || fstat(in, &it->st) < 0)
		r = -errno;
	else if (!S_ISREG(it->st.st_mode))
		r = -ESTALE;
	if (r == 0) {
		out = openat(
			it->to, it->as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (out < 0)
			r = at_copy(c);
	}
	if (r == 0)
		r = copy_bytes(c, in, out, it->st.st_blocks < it->st.st_size / STAT_BLOCK);
	if (r == 0)
		r = finish_file(c, it, in, out);
	if (out >= 0 && close(out) < 0 && r == 0 &&
		errno != EINTR) /* NFS writes at the latest now */
		r = at_copy(c);
	file_close(&in);
	return r;
}

static int copy_link(struct tree_copy *c, const struct item *it)
{
	const struct timespec times[2] = { it->st.st_atim, it->st.st_mtim };
	char target[PATH_MAX];
	ssize_t n = readlinkat(it->from, it->name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (symlinkat(target, it->to, it->as) < 0)
		return at_copy(c);
	(void)fchownat(it->to, it->as, it->st.st_uid, it->st.st_gid, AT_SYMLINK_NOFOLLOW);
	(void)utimensat(it->to, it->as, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* FIFOs, sockets, devices. mknodat obeys the umask. */
static int copy_node(struct tree_copy *c, const struct item *it)
{
	const struct timespec times[2] = { it->st.st_atim, it->st.st_mtim };

	if (mknodat(it->to, it->as, it->st.st_mode, it->st.st_rdev) < 0)
		return at_copy(c);
	(void)fchownat(it->to, it->as, it->st.st_uid, it->st.st_gid, AT_SYMLINK_NOFOLLOW);
	(void)fchmodat(it->to, it->as, it->st.st_mode & 07777, 0);
	(void)utimensat(it->to, it->as, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int copy_item(struct tree_copy *c, struct item *it);

static int copy_entries(struct tree_copy *c, int in, int out, int depth)
{
	_Alignas(8) char mem[TREE_CHUNK];
	struct item it = { .from = in, .to = out, .depth = depth };
	struct dir_entry e;
	struct dir_read d;
	int r;

	dir_start(&d, in, mem, sizeof(mem));
	while ((r = dir_next(&d, &e)) > 0) {
		it.name = it.as = e.name;
		r = tree_changeable(in);
		if (r == 0)
			r = copy_item(c, &it);
		if (r < 0)
			return r;
	}
	return r;
}

/* 0, or why this directory must not be copied: it is the copy itself, or a mount that could not be
 * removed. */
static int check_dir(struct tree_copy *c, const struct item *it, int in, int out)
{
	struct stat parent, top;

	if (it->depth == 0) {
		if (fstat(out, &top) < 0)
			return -errno;
		c->dev = top.st_dev;
		c->ino = top.st_ino;
		return 0;
	}
	if (it->st.st_dev == c->dev && it->st.st_ino == c->ino)
		return -EINVAL;
	if (fstat(it->from, &parent) < 0 || fstat(in, &top) < 0)
		return -errno;
	return parent.st_dev == top.st_dev ? 0 : -EBUSY;
}

static int copy_dir(struct tree_copy *c, struct item *it)
{
	int in, out = -1, r;

	if (it->depth == TREE_DEPTH_MAX)
		return -ENAMETOOLONG;
	in = dir_open(it->from, it->name);
	r = in < 0 ? in : 0;
	if (r == 0 && mkdirat(it->to, it->as, 0700) < 0)
		r = at_copy(c);
	if (r == 0)
		r = out = dir_open(it->to, it->as);
	if (r >= 0)
		r = check_dir(c, it, in, out);
	if (r == 0)
		r = copy_entries(c, in, out, it->depth + 1);
	if (r == 0)
		r = meta_copy(in, &it->st, out, META_TIMES | META_SET_ID, c->mem);
	if (r == 0 && it->depth == 0) {
		r = sync_all(out);
		c->at_copy = r < 0;
	}
	file_close(&out);
	file_close(&in);
	return r;
}

static int copy_item(struct tree_copy *c, struct item *it)
{
	if (is_stopped(c))
		return -ECANCELED;
	if (fstatat(it->from, it->name, &it->st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	switch (it->st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(c, it);
	case S_IFDIR:
		return copy_dir(c, it);
	case S_IFLNK:
		return copy_link(c, it);
	default:
		return copy_node(c, it);
	}
}

int tree_copy(struct tree_copy *c, int from, const char *name, int to, const char *as)
{
	struct item it = { .from = from, .name = name, .to = to, .as = as };

	return copy_item(c, &it);
}

/* Everything in the open directory; sets *some when anything went. */
static int remove_entries(int fd, bool *some)
{
	_Alignas(8) char mem[TREE_CHUNK];
	struct dir_entry e;
	struct dir_read d;
	int r, first = 0;

	*some = false;
	dir_start(&d, fd, mem, sizeof(mem));
	while ((r = dir_next(&d, &e)) > 0) {
		r = tree_remove(fd, e.name);
		if (r == 0)
			*some = true;
		else if (first == 0)
			first = r;
	}
	return first < 0 ? first : r;
}

/* Some file systems pass over names while others are removed: again, as long as that gets on. */
static int remove_dir(int dir, const char *name)
{
	int r, fd = dir_open(dir, name);
	bool some = true;

	if (fd < 0)
		return fd;
	r = unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	while (r == -ENOTEMPTY || r == -EEXIST) {
		r = remove_entries(fd, &some);
		if (r == 0)
			r = unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
		if (!some)
			break;
	}
	close(fd);
	return r;
}

int tree_empty(int dir, const char *name)
{
	int r, fd = dir_open(dir, name);
	bool some = true;

	if (fd < 0)
		return fd;
	do
		r = remove_entries(fd, &some);
	while (r == 0 && some);
	close(fd);
	return r;
}

int tree_remove(int dir, const char *name)
{
	struct stat st;
	int r;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return remove_dir(dir, name);
	r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
	return r == -ENOENT ? 0 : r;
}
