#include "host/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"
#include "host/dirs.h"
#include "host/root.h"

#define BELOW_ROOT ".sandstorm-mcp"

static char path[PATH_MAX];

/* The kernel, not we, resolves ".." in what the administrator wrote. */
int state_dir_setup(const char *configured)
{
	char here[PATH_MAX] = "";
	const char *above = root_path(), *below = configured ? configured : BELOW_ROOT;
	struct buf b;
	int r = 0;

	if (configured && configured[0] != '/')
		r = dirs_working(here, sizeof(here));
	if (r < 0)
		return r;
	if (configured)
		above = here;
	if (strcmp(above, "/") == 0)
		above = "";
	buf_over(&b, path, sizeof(path));
	buf_printf(&b, "%s%s%s", above, below[0] == '/' ? "" : "/", below);
	buf_putc(&b, '\0');
	return b.failed ? -ENAMETOOLONG : 0;
}

const char *state_dir_path(void)
{
	return path;
}

int state_dir_check(void)
{
	return dirs_usable(path);
}

int state_dir_open(bool make)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0 && errno == ENOENT && make) {
		r = dirs_make(path, 0700);
		if (r < 0)
			return r;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/*
 * A lock of the process: a worker, which is a copy of us, does not have it, and it is free as soon
 * as we are dead. The descriptor stays open: closing it would give the lock back.
 */
int state_dir_lock(int dir, const char *name)
{
	const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r, fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &whole) == 0)
		return 0;
	r = errno == EACCES || errno == EAGAIN ? -EBUSY : 0;
	close(fd);
	return r;
}
