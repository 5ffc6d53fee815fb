#include "front/ca_fetch.h"

#include <errno.h>
#include <unistd.h>

#include "base/address.h"
#include "bounds.h"
#include "http/reply.h"
#include "loop/resolve.h"
#include "tls/unverified.h"
#include "version.h"

/* One run of the command is one fetch. */
static struct {
	const struct http_origin *from;
	struct buf *pem, *why;
	struct resolve resolve;
	struct timer limit;
	int next;            /* address to try */
	struct watch dialed; /* the socket that is being connected */
	int error;           /* -errno of the last one that failed */
	struct tls_client tls;
	bool asked;
	struct buf head;
	struct http_reply reply;
} fetch;

static void finish(int status)
{
	timer_clear(&fetch.limit);
	tls_client_end(&fetch.tls);
	loop_stop(status);
}

static void give_up(const char *what)
{
	buf_puts(fetch.why, what);
	finish(-1);
}

static void too_late(struct timer *t)
{
	(void)t;
	if (fetch.dialed.slot) {
		watch_del(&fetch.dialed);
		close(fetch.dialed.fd);
	}
	give_up("no answer in time");
}

/* --- the exchange --- */

static void request_send(void)
{
	char mem[sizeof(fetch.from->host) + sizeof(fetch.from->prefix) + 200];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "GET %s/ca.pem HTTP/1.1\r\nHost: ", fetch.from->prefix);
	http_origin_put_host(fetch.from, &b);
	buf_puts(&b,
		"\r\nUser-Agent: sandstorm-mcp/" SERVER_VERSION "\r\nConnection: close\r\n\r\n");
	/* a new connection has room for a whole record, which is more than this */
	tls_write(&fetch.tls.stream, buf_all(&b));
	tls_flush(&fetch.tls.stream);
	fetch.asked = true;
}

static void reply_whole(void)
{
	if (fetch.reply.status == 200) {
		finish(0);
		return;
	}
	buf_printf(fetch.why, "it answers with status %d", fetch.reply.status);
	finish(-1);
}

/* 1 whole, 0 more is to come, or -errno. */
static int reply_read(void)
{
	struct slice in, part;
	int r = 0;

	while (r == 0 && (in = tls_readable(&fetch.tls.stream)).n > 0) {
		size_t n = in.n;

		while (r == 0 && in.n > 0) {
			r = http_reply_take(&fetch.reply, &in, &part);
			buf_slice(fetch.pem, part);
		}
		tls_consumed(&fetch.tls.stream, n - in.n);
	}
	return r;
}

static void ended(void)
{
	const struct tls_stream *t = &fetch.tls.stream;

	if (fetch.asked && http_reply_end(&fetch.reply, t->state == TLS_CLOSED) == 1) {
		reply_whole();
	} else if (t->state == TLS_FAILED) {
		tls_client_put_failure(&fetch.tls, fetch.why);
		finish(-1);
	} else {
		give_up("it closes the connection without a whole answer");
	}
}

static void tls_changed(struct tls_stream *t)
{
	int r;

	if (t->state == TLS_OPEN && !fetch.asked)
		request_send();
	r = reply_read();
	if (fetch.pem->failed)
		give_up("what it sends as /ca.pem is larger than 64 KiB");
	else if (r < 0)
		give_up("it does not answer with HTTP");
	else if (r == 1)
		reply_whole();
	else if (t->state == TLS_CLOSED || t->state == TLS_FAILED)
		ended();
}

/* --- the connection --- */

static void dial_next(void);

static void connected(struct watch *w, unsigned events)
{
	int error = 0, r;
	socklen_t n = sizeof(error);

	(void)events;
	watch_del(w);
	getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error) {
		close(w->fd);
		fetch.error = -error;
		dial_next();
		return;
	}
	fetch.tls.stream.changed = tls_changed;
	r = tls_unverified_start(&fetch.tls, w->fd, fetch.from->host);
	if (r < 0)
		give_up(strerror(-r));
}

/* 0: connected() follows. */
static int dial(const unsigned char address[16])
{
	union socket_address to;
	socklen_t n = address_to_socket(address, fetch.from->port, &to);
	int r, fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	r = connect(fd, &to.any, n) < 0 && errno != EINPROGRESS ? -errno : 0;
	fetch.dialed.ready = connected;
	if (r == 0)
		r = watch_add(&fetch.dialed, fd, LOOP_WRITE);
	if (r < 0)
		close(fd);
	return r;
}

static void dial_next(void)
{
	while (fetch.next < fetch.resolve.count) {
		int r = dial(fetch.resolve.address[fetch.next++]);

		if (r == 0)
			return;
		fetch.error = r;
	}
	buf_printf(fetch.why, "cannot connect: %s", strerror(-fetch.error));
	finish(-1);
}

static void dial_first(void)
{
	fetch.limit.fire = too_late;
	timer_set(&fetch.limit, CA_FETCH_MS);
	dial_next();
}

static void resolved(struct resolve *r)
{
	if (r->err == 0) {
		dial_first();
		return;
	}
	buf_printf(fetch.why, "no address for %s: %s", r->host,
		r->err == -ENOENT ? "there is no such name" : strerror(-r->err));
	finish(-1);
}

static int begin(void)
{
	int r = buf_reserve(&fetch.head, HTTP_HEAD_MAX);

	if (r < 0)
		return r;
	http_reply_init(&fetch.reply, &fetch.head);
	fetch.resolve.host = fetch.from->host;
	fetch.resolve.done = resolved;
	r = resolve_start(&fetch.resolve, CA_FETCH_MS);
	if (r == 1)
		dial_first();
	return r < 0 ? r : 0;
}

int ca_fetch(const struct http_origin *from, struct buf *pem, struct buf *why)
{
	int r;

	fetch.from = from;
	fetch.pem = pem;
	fetch.why = why;
	r = begin();
	if (r < 0) {
		buf_puts(why, strerror(-r));
		return -1;
	}
	return loop_run();
}
