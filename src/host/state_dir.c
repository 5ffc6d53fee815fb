#include "host/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/dirs.h"
#include "host/root.h"

#define BELOW_ROOT ".sandstorm-mcp"

static char path[PATH_MAX];
static int no_link; /* O_NOFOLLOW for a place that clients can write to */

/* The kernel, not we, resolves ".." in what the administrator wrote. */
int state_dir_setup(const char *configured)
{
	char here[PATH_MAX] = "";
	const char *above = root_path(), *below = configured ? configured : BELOW_ROOT;
	int r = 0;

	if (configured && configured[0] != '/')
		r = dirs_working(here, sizeof(here));
	if (r < 0)
		return r;
	no_link = configured ? 0 : O_NOFOLLOW;
	if (configured)
		above = here;
	if (strcmp(above, "/") == 0)
		above = "";
	return str_printf(path, sizeof(path), "%s%s%s", above, below[0] == '/' ? "" : "/", below);
}

const char *state_dir_path(void)
{
	return path;
}

int state_dir_check(void)
{
	return dirs_usable(path);
}

void state_dir_complain(int err)
{
	static bool said;
	const struct log_field fields[] = { { "directory", slice_of(path) },
		{ "error", slice_of(strerror(-err)) }, { 0 } };

	if (!said)
		log_event(LOG_WARN,
			"state directory cannot be written: nothing will survive a restart",
			fields);
	said = true;
}

static int open_it(void)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link);

	return fd < 0 ? -errno : fd;
}

/* The root may be a repository, of which what we keep is no part. */
static void hide_from_git(int dir)
{
	int fd = openat(
		dir, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (write_all(fd, LIT("*\n")) < 0)
		unlinkat(dir, ".gitignore", 0);
	close(fd);
}

int state_dir_open(bool make)
{
	int fd = open_it(), r;

	if (fd != -ENOENT || !make)
		return fd;
	r = dirs_make(path, 0700);
	if (r < 0)
		return r;
	fd = open_it();
	if (fd >= 0)
		hide_from_git(fd);
	return fd;
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
