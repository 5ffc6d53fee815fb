#include "host/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/slice.h"
#include "host/path_text.h"

static int fd = -1;
static char resolved[PATH_MAX];
static char alias[PATH_MAX]; /* "" when there is only one spelling */

/* The directory and its parents; links on the way are the administrator's and are followed. */
static int make_all(const char *path)
{
	char part[PATH_MAX];
	size_t i, n = strlen(path);

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST && errno != EISDIR && i == n)
			return -errno;
		part[i] = path[i];
	}
	return 0;
}

/* The kernel's own spelling of where we stand. libc's getcwd and realpath would bring malloc along.
 */
static int working_dir(char *mem, size_t size)
{
	if (syscall(SYS_getcwd, mem, size) < 0)
		return -errno;
	return mem[0] == '/' ? 0 : -ENOENT; /* "(unreachable)/..." */
}

/* Goes there and asks. A working directory that we may not enter again is not returned to. */
static int resolve(int dir, char *mem, size_t size)
{
	int r, back = open(".", O_PATH | O_CLOEXEC);

	r = fchdir(dir) < 0 ? -errno : working_dir(mem, size);
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
	if (configured[0] != '/' && working_dir(here, sizeof(here)) < 0)
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
		r = make_all(configured);
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

int root_fd(void)
{
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
