#include "host/dir_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64 writes; the same on every machine, unlike libc's struct dirent. */
struct kernel_dirent {
	uint64_t ino;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

int dir_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void dir_start(struct dir_read *d, int fd, void *mem, size_t size)
{
	*d = (struct dir_read){ .fd = fd, .mem = mem, .size = size };
	(void)lseek(fd, 0, SEEK_SET);
}

static int dir_fill(struct dir_read *d)
{
	long n = syscall(SYS_getdents64, d->fd, d->mem, d->size);

	d->at = 0;
	d->len = n > 0 ? (size_t)n : 0;
	return n < 0 ? -errno : n > 0;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int dir_next(struct dir_read *d, struct dir_entry *e)
{
	const struct kernel_dirent *k;
	int r;

	for (;;) {
		if (d->at == d->len) {
			r = dir_fill(d);
			if (r <= 0)
				return r;
		}
		k = (const void *)(d->mem + d->at);
		d->at += k->size;
		if (!is_dots(k->name)) {
			*e = (struct dir_entry){ k->name, k->type };
			return 1;
		}
	}
}
