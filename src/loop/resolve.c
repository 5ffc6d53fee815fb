#include "loop/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/address.h"
#include "loop/lookup.h"

static void address_add(struct resolve *r, struct slice number)
{
	r->count += address_parse(number, r->address[r->count]);
}

/* RFC 6761 section 6.3: this name needs no resolver, and no /etc. */
static bool known(struct resolve *r)
{
	if (strcmp(r->host, "localhost") == 0) {
		address_add(r, LIT("::1"));
		address_add(r, LIT("127.0.0.1"));
	} else {
		address_add(r, slice_of(r->host));
	}
	return r->count > 0;
}

/* --- in the worker --- */

static void look_up(struct worker *w, struct outcome *o)
{
	struct resolve *r = container_of(w, struct resolve, worker);
	size_t size = sizeof(r->address);
	struct dns_found f;

	o->err = lookup_name(r->host, &f);
	if (f.count < RESOLVED_MAX)
		size = (size_t)f.count * 16;
	/* It fits into the pipe whole. */
	if (write(r->pipe, f.address, size) < 0)
		o->err = -errno;
}

/* --- in the loop --- */

static void settle(struct resolve *r, int err)
{
	timer_clear(&r->limit);
	close(r->pipe);
	r->err = err;
}

static void looked_up(struct worker *w)
{
	struct resolve *r = container_of(w, struct resolve, worker);
	ssize_t n = read(r->pipe, r->address, sizeof(r->address));

	r->count = n > 0 ? (int)n / 16 : 0;
	settle(r, w->outcome.err == 0 && r->count == 0 ? -ENOENT : w->outcome.err);
	r->done(r);
}

static void too_late(struct timer *t)
{
	struct resolve *r = container_of(t, struct resolve, limit);

	worker_drop(&r->worker);
	settle(r, -ETIMEDOUT);
	r->done(r);
}

/* The worker writes through r->pipe of its copy; here it becomes the reading end. */
static int worker_begin(struct resolve *r)
{
	int ends[2], e;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	r->pipe = ends[1];
	r->keep[0] = ends[1];
	r->keep[1] = -1;
	r->worker = (struct worker){ .work = look_up, .done = looked_up, .keep = r->keep };
	e = worker_start(&r->worker);
	close(ends[1]);
	r->pipe = ends[0];
	if (e < 0)
		close(ends[0]);
	return e;
}

int resolve_start(struct resolve *r, int64_t limit_ms)
{
	int e;

	r->err = 0;
	r->count = 0;
	if (known(r))
		return 1;
	e = worker_begin(r);
	if (e < 0)
		return e;
	r->limit.fire = too_late;
	timer_set(&r->limit, limit_ms);
	return 0;
}

const char *resolve_error(int err)
{
	switch (err) {
	case -ENOENT:
		return "there is no such name";
	case -EAGAIN:
		return "no name server answers";
	case -ETIMEDOUT:
		return "no answer in time";
	default:
		return strerror(-err);
	}
}

void resolve_cancel(struct resolve *r)
{
	worker_drop(&r->worker);
	settle(r, -ECANCELED);
}
