#include "host/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "host/dirs.h"
#include "host/path_text.h"

static int fd = -1;
static char resolved[PATH_MAX];
static char alias[PATH_MAX]; /* "" when there is only one spelling */

/* Goes there and asks. A working directory that we may not enter again is not returned to. */
static int resolve(int dir, char *mem, size_t size)
{
	int r, back = open(".", O_PATH | O_CLOEXEC);

	r = fchdir(dir) < 0 ? -errno : dirs_working(mem, size);
	if (back < 0)
		return r;
	if (fchdir(back) < 0 && errno != EACCES && r == 0)
		r = -errno;
	close(back);
	return r;
}

/* The configured spelling, kept only if, read as text, it names the same directory. */
static void note_alias(const char *configured)
{
	char here[PATH_MAX];
	struct stat a, b;

	alias[0] = '\0';
	if (configured[0] != '/' && dirs_working(here, sizeof(here)) < 0)
		return;
	if (path_normal(configured[0] == '/' ? "/" : here, slice_of(configured), alias,
		    sizeof(alias)) < 0 ||
		strcmp(alias, resolved) == 0 || stat(alias, &a) < 0 || fstat(fd, &b) < 0 ||
		a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		alias[0] = '\0';
}

int root_open(const char *configured)
{
	int dir, r;

	dir = open(configured, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT) {
		r = dirs_make(configured, 0777);
		if (r < 0)
			return r;
		dir = open(configured, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (dir < 0)
		return -errno;
	r = resolve(dir, resolved, sizeof(resolved));
	if (r < 0) {
		close(dir);
		return r;
	}
	if (fd >= 0)
		close(fd);
	fd = dir;
	note_alias(configured);
	return 0;
}

static bool is_there(int *err)
{
	struct stat a, b;

	*err = stat(resolved, &a) < 0 ? errno : 0;
	return *err == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* "rm -rf project; git clone ... project" leaves us with a directory that nobody else sees. */
int root_fd(void)
{
	int dir, err;

	if (is_there(&err))
		return fd;
	if (err == ENOENT && dirs_make(resolved, 0777) < 0)
		return fd;
	dir = open(resolved, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return fd;
	close(fd);
	fd = dir;
	return fd;
}

const char *root_path(void)
{
	return resolved;
}

const char *root_below(const char *path)
{
	const char *rest = path_strip(path, resolved);

	if (!rest && alias[0])
		rest = path_strip(path, alias);
	return rest;
}
