/* Opening a connection: name, addresses in turn, TLS. All three together have CONNECT_MS (H10). */
#include <errno.h>
#include <unistd.h>

#include "base/address.h"
#include "http/client_conn.h"

static void connect_next(struct client_conn *k);

static int64_t time_left(const struct client_conn *k)
{
	int64_t ms = k->open_by - loop_now();

	return ms > 0 ? ms : 0;
}

/* --- TLS --- */

static void handshake_late(struct timer *t)
{
	client_fail(container_of(t, struct client_conn, step), HTTP_CALL_TIMEOUT);
}

static void handshake(struct client_conn *k, int fd)
{
	k->tls.stream.changed = client_changed;
	k->error = tls_client_start(&k->tls, fd, &client_peer);
	if (k->error < 0) {
		k->state = CLIENT_CONNECT;
		client_fail(k, k->error == -ENOMEM ? HTTP_CALL_MEMORY : HTTP_CALL_CONNECT);
		return;
	}
	k->state = CLIENT_HANDSHAKE;
	k->step.fire = handshake_late;
	timer_set(&k->step, time_left(k));
}

/* --- addresses --- */

static void socket_close(struct client_conn *k)
{
	int fd = k->w.fd;

	watch_del(&k->w);
	close(fd);
}

static void connect_ready(struct watch *w, unsigned events)
{
	struct client_conn *k = container_of(w, struct client_conn, w);
	int error = 0, fd = w->fd;
	socklen_t n = sizeof(error);

	(void)events;
	timer_clear(&k->step);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		error = errno;
	if (error) {
		k->error = -error;
		socket_close(k);
		connect_next(k);
		return;
	}
	watch_del(w);
	handshake(k, fd);
}

static void connect_late(struct timer *t)
{
	struct client_conn *k = container_of(t, struct client_conn, step);

	k->error = -ETIMEDOUT;
	socket_close(k);
	connect_next(k);
}

/* 0: on its way, or -errno. */
static int connect_start(struct client_conn *k, const unsigned char address[16])
{
	union socket_address a;
	socklen_t len = address_to_socket(address, client_origin->port, &a);
	int e = 0, fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, &a.any, len) < 0 && errno != EINPROGRESS)
		e = -errno;
	k->w.ready = connect_ready;
	if (e == 0)
		e = watch_add(&k->w, fd, LOOP_WRITE);
	if (e < 0)
		close(fd);
	return e;
}

static enum http_call_failure connect_failure(int error)
{
	switch (error) {
	case -ECONNREFUSED:
		return HTTP_CALL_REFUSED;
	case -ETIMEDOUT:
		return HTTP_CALL_TIMEOUT;
	default:
		return HTTP_CALL_CONNECT;
	}
}

/* One that never answers leaves time for those behind it. */
static void connect_next(struct client_conn *k)
{
	while (k->tried < k->names.count) {
		int left = k->names.count - k->tried;

		k->error = connect_start(k, k->names.address[k->tried++]);
		if (k->error < 0)
			continue;
		k->step.fire = connect_late;
		timer_set(&k->step, time_left(k) / left);
		return;
	}
	client_fail(k, connect_failure(k->error));
}

/* --- the name --- */

static void resolved(struct resolve *r)
{
	struct client_conn *k = container_of(r, struct client_conn, names);

	k->state = CLIENT_CONNECT;
	if (r->err)
		client_fail(k, HTTP_CALL_RESOLVE);
	else
		connect_next(k);
}

/* What the call has left, at most CONNECT_MS. */
static int64_t time_allowed(const struct http_call *c)
{
	int64_t ms = c->began + c->limit_ms - loop_now();

	return ms < CONNECT_MS ? ms : CONNECT_MS;
}

void client_open(struct client_conn *k, struct http_call *c)
{
	int e;

	k->call = c;
	c->conn = k;
	k->reused = false;
	k->tried = 0;
	k->open_by = loop_now() + time_allowed(c);
	k->state = CLIENT_RESOLVE;
	k->names.host = client_origin->host;
	k->names.done = resolved;
	e = resolve_start(&k->names, time_left(k));
	if (e == 0)
		return;
	if (e < 0)
		k->names.err = e;
	resolved(&k->names);
}

void client_open_stop(struct client_conn *k)
{
	if (k->state == CLIENT_RESOLVE)
		resolve_cancel(&k->names);
	if (k->w.slot)
		socket_close(k);
}
