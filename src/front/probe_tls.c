#include "front/probe_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "loop/loop.h"
#include "tls/pinned.h"

/* One run of the command is one exchange at a time. */
static struct {
	struct tls_client tls;
	struct timer limit;
	struct slice request;
	bool asked;
	struct buf *answer;
} probe;

static void too_late(struct timer *t)
{
	(void)t;
	loop_stop(-ETIMEDOUT);
}

static int failure(const struct tls_client *c)
{
	if (tls_pinned_is_other(c))
		return -EKEYREJECTED;
	return c->stream.error < 0 ? c->stream.error : -EPROTO;
}

static void answer_read(struct tls_stream *t)
{
	struct slice s;

	while ((s = tls_readable(t)).n > 0) {
		buf_slice(probe.answer, slice_head(s, probe.answer->max - probe.answer->len));
		tls_consumed(t, s.n);
	}
}

static void changed(struct tls_stream *t)
{
	if (t->state == TLS_OPEN && !probe.asked) {
		probe.asked = true;
		tls_write(t, probe.request); /* less than a record, for which there is room */
		tls_flush(t);
	}
	answer_read(t);
	if (t->state == TLS_CLOSED || probe.answer->len == probe.answer->max)
		loop_stop(0);
	else if (t->state == TLS_FAILED)
		loop_stop(failure(&probe.tls));
}

static int start(int fd, const struct cert *pin)
{
	static bool ready;
	int flags = fcntl(fd, F_GETFL), r = ready ? 0 : loop_init();

	ready = true;
	if (r == 0 && (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	probe.tls.stream.changed = changed;
	return tls_pinned_start(&probe.tls, fd, pin);
}

int probe_tls(
	int fd, const struct cert *pin, struct slice request, struct buf *answer, int64_t limit_ms)
{
	int r;

	probe.request = request;
	probe.asked = false;
	probe.answer = answer;
	r = start(fd, pin);
	if (r < 0)
		return r;
	probe.limit.fire = too_late;
	timer_set(&probe.limit, limit_ms);
	r = loop_run();
	timer_clear(&probe.limit);
	tls_client_end(&probe.tls);
	return r;
}
