#include "loop/drain.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "bounds.h"
#include "loop/loop.h"

struct drain {
	struct watch w;
	uint64_t age; /* 0: free; else the lower the older */
};

static struct drain drains[DRAINS_MAX];
static uint64_t taken;

char *drain_buffer(void)
{
	static char bytes[READ_CHUNK];

	return bytes;
}

static void drain_close(struct drain *d)
{
	int fd = d->w.fd;

	if (d->age == 0)
		return;
	watch_del(&d->w);
	close(fd);
	d->age = 0;
}

static void drain_ready(struct watch *w, unsigned events)
{
	ssize_t n = read(w->fd, drain_buffer(), READ_CHUNK);

	(void)events;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		drain_close(container_of(w, struct drain, w));
}

void drain_take(int fd)
{
	struct drain *d = &drains[0];

	for (int i = 1; i < DRAINS_MAX; i++)
		if (drains[i].age < d->age)
			d = &drains[i];
	drain_close(d);
	d->w.ready = drain_ready;
	d->age = ++taken;
	if (watch_add(&d->w, fd, LOOP_READ) < 0) {
		close(fd);
		d->age = 0;
	}
}
