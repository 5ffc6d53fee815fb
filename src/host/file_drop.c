#include "host/file_drop.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bounds.h"

enum {
	DROP_INLINE_MAX =
		64 * MIB, /* freeing so much takes some 3 ms, above it a fork is cheaper */
	STAT_BLOCK = 512, /* unit of st_blocks */
};

static bool is_large(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_blocks > DROP_INLINE_MAX / STAT_BLOCK;
}

int file_drop_hold(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_large(&st))
		return -1;
	return openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* The copy holds the last descriptor and ends at once: the kernel does the rest. */
static void drop_work(struct worker *w, struct outcome *o)
{
	(void)w;
	(void)o;
}

static void drop_done(struct worker *w)
{
	job_wake(container_of(w, struct file_drop, worker)->job);
}

/* Nothing is left to be undone: the worker ends by itself, and the job lives as long. */
static void drop_cancel(struct job *j)
{
	(void)j;
}

enum step file_drop(struct job *j, struct file_drop *d, int *fd, enum step (*next)(struct job *j))
{
	struct stat st;
	int r = -1;

	if (*fd >= 0 && fstat(*fd, &st) == 0 && is_large(&st)) {
		d->job = j;
		d->keep[0] = *fd;
		d->keep[1] = -1;
		d->worker =
			(struct worker){ .work = drop_work, .done = drop_done, .keep = d->keep };
		r = worker_start(&d->worker);
	}
	file_close(fd);
	if (r < 0)
		return next(j);
	j->cancel = drop_cancel;
	return job_wait(j, next);
}
