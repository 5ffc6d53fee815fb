#include "host/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "bounds.h"
#include "host/dir_read.h"
#include "host/state_dir.h"

#define DIRECTORY "background"
#define SUFFIX ".log"

void output_dir_name(char name[OUTPUT_NAME], pid_t pid)
{
	struct utc t;

	utc_from(&t, clock_unix());
	str_printf(name, OUTPUT_NAME, "%04d%02d%02d-%02d%02d%02d-%d" SUFFIX, t.year, t.month, t.day,
		t.hour, t.minute, t.second, (int)pid);
}

void output_dir_put(struct buf *b, const char *name)
{
	const char *state = state_dir_path();

	buf_printf(b, "%s/" DIRECTORY "/%s", strcmp(state, "/") == 0 ? "" : state, name);
}

/* ---- old files ---- */

static bool is_ours(const char *name)
{
	size_t n = strlen(name), suffix = sizeof(SUFFIX) - 1;

	return ascii_digit(name[0]) && n < OUTPUT_NAME && n > suffix &&
	       strcmp(name + n - suffix, SUFFIX) == 0;
}

/* Gives how many files there are; name becomes the first one after it, "" when there is none. */
static int look(int dir, char name[OUTPUT_NAME])
{
	static union {
		uint64_t align;
		char bytes[4 * KIB];
	} mem;
	char next[OUTPUT_NAME] = "";
	struct dir_read d;
	struct dir_entry e;
	int count = 0;

	dir_start(&d, dir, mem.bytes, sizeof(mem.bytes));
	while (dir_next(&d, &e) > 0) {
		if (!is_ours(e.name))
			continue;
		count++;
		if (strcmp(e.name, name) > 0 && (!next[0] || strcmp(e.name, next) < 0))
			memcpy(next, e.name, strlen(e.name) + 1);
	}
	memcpy(name, next, sizeof(next));
	return count;
}

/* Whoever may still write to it, this server or another one, has it locked. */
static void remove_ended(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		unlinkat(dir, name, 0);
	if (fd >= 0)
		close(fd);
}

static void remove_old(int dir)
{
	char name[OUTPUT_NAME] = "";

	while (look(dir, name) >= BACKGROUND_FILES && name[0])
		remove_ended(dir, name);
}

int output_dir_open(void)
{
	int fd, state = state_dir_open(true);

	if (state < 0)
		return state;
	fd = mkdirat(state, DIRECTORY, 0700) < 0 && errno != EEXIST ? -errno
								    : dir_open(state, DIRECTORY);
	close(state);
	if (fd >= 0)
		remove_old(fd);
	return fd;
}
