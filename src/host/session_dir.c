#include "host/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "host/root.h"
#include "host/session_env.h"

#define ALL "sessions"

enum { BELOW_MAX = sizeof("/" ALL "/") + SESSION_ID_LEN };

/* "/sessions/<id>" */
static void put_below(const struct session *s, char mem[BELOW_MAX])
{
	str_printf(mem, BELOW_MAX, "/" ALL "/%s", s->id);
}

bool session_dir_path(const struct session *s, const char *below, char *mem, size_t size)
{
	const char *root = root_path();

	return str_printf(mem, size, "%s/" ALL "/%s%s", root[1] ? root : "", s->id, below) == 0;
}

/* --- making --- */

static int make_file(int dir, const char *name, struct slice text)
{
	int fd, r;

	if (text.n == 0)
		return 0;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text);
	close(fd);
	return r;
}

static int make_dir(int dir, const char *name, mode_t mode)
{
	return mkdirat(dir, name, mode) < 0 ? -errno : 0;
}

static int make_context(int dir, struct slice task, struct slice env)
{
	int r = make_dir(dir, "context", 0700), fd = -1;

	if (r == 0)
		r = fd = openat(dir, "context", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return r < 0 ? -errno : r;
	r = make_file(fd, "task.json", task);
	if (r == 0)
		r = make_file(fd, "env.json", env);
	close(fd);
	return r;
}

static int make_all(int dir, struct slice task, struct slice env)
{
	int r = make_context(dir, task, env);

	if (r == 0)
		r = make_dir(dir, "workspace", 0777);
	if (r == 0)
		r = make_dir(dir, "outputs", 0777);
	return r;
}

int session_dir_make(const struct session *s, struct slice task, struct slice env)
{
	struct place p;
	int r, dir = -1, all = path_open_dir(&p, LIT(ALL), true);

	if (all < 0)
		return all;
	r = make_dir(all, s->id, 0777);
	if (r == 0)
		dir = openat(all, s->id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0)
		r = dir < 0 ? -errno : make_all(dir, task, env);
	file_close(&dir);
	close(all);
	return r;
}

/* --- finding --- */

int session_dir_find(const struct session *s, struct place *p)
{
	char below[BELOW_MAX];
	struct stat st;
	int r;

	put_below(s, below);
	r = path_find(p, slice_of(below + 1), 0);
	if (r == 0 && fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}

static int open_top(const struct session *s, char below[BELOW_MAX])
{
	struct place p;

	put_below(s, below);
	return path_open_dir(&p, slice_of(below + 1), false);
}

int session_dir_open(const struct session *s, struct slice given, struct place *p)
{
	char below[BELOW_MAX], base[PATH_MAX];
	struct path_top top = { .below = below };
	int r;

	p->shown[0] = '\0';
	if (!session_dir_path(s, "/workspace", base, sizeof(base)))
		return -ENAMETOOLONG;
	top.fd = open_top(s, below);
	if (top.fd < 0)
		return top.fd;
	r = path_open_dir_within(&top, base, p, given, true);
	close(top.fd);
	return r;
}

/* --- the environment --- */

/* All of a regular file that is not too long, in mem. */
static int file_text(int fd, struct buf *mem, char **text, size_t *n)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SESSION_ENV_BYTES)
		return -EBADMSG;
	*text = buf_alloc(mem, (size_t)st.st_size + 1);
	if (!*text)
		return -ENOMEM;
	got = pread(fd, *text, (size_t)st.st_size, 0);
	*n = got < 0 ? 0 : (size_t)got;
	return got < 0 ? -errno : 0;
}

static int open_env(const struct session *s)
{
	char below[BELOW_MAX];
	int r = -ENOENT, fd, dir, top = open_top(s, below);

	if (top < 0)
		return top;
	dir = openat(top, "context", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = dir < 0 ? -1 : openat(dir, "env.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		r = errno == ELOOP || errno == ENOTDIR ? -EBADMSG : -errno;
	file_close(&dir);
	close(top);
	return fd < 0 ? r : fd;
}

int session_dir_env(const struct session *s, struct buf *mem, const char *const **env)
{
	char why_mem[256], *text = NULL;
	struct buf why;
	struct json d;
	size_t n = 0;
	int r, fd = open_env(s);

	*env = NULL;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = file_text(fd, mem, &text, &n);
	close(fd);
	if (r == 0)
		r = json_parse(&d, text, n, mem);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	buf_over(&why, why_mem, sizeof(why_mem));
	*env = session_env(&d, 0, mem, &why);
	return *env ? 0 : mem->failed ? -ENOMEM : -EBADMSG;
}
