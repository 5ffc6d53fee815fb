/*
 * The seam between connections and their bytes: a socket as it is, or with TLS around it. All else
 * in http/ is the same for both.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/log.h"
#include "http/conn.h"

/* --- events --- */

static void plain_ready(struct watch *w, unsigned events)
{
	conn_ready(container_of(w, struct http_conn, w), events);
}

static void log_failure(const struct http_conn *c)
{
	char peer_mem[64], why_mem[100];
	struct buf peer, why;
	struct log_field fields[] = { { "peer" }, { "why" }, { 0 } };

	buf_over(&peer, peer_mem, sizeof(peer_mem));
	address_put(&peer, c->peer);
	buf_over(&why, why_mem, sizeof(why_mem));
	tls_server_put_failure(conn_tls(c), &why);
	fields[0].text = buf_all(&peer);
	fields[1].text = buf_all(&why);
	log_event(LOG_INFO, "no TLS connection", fields);
}

/* From here on bytes go as they are. 0 or -errno. */
static int unwrap(struct http_conn *c, unsigned want)
{
	int fd = tls_server_leave(conn_tls(c)), r;

	c->tls = false;
	c->w.ready = plain_ready;
	r = watch_add(&c->w, fd, want);
	c->w.fd = fd;
	return r;
}

/* A client that speaks HTTP is told so in HTTP. */
static void turn_plain(struct http_conn *c)
{
	c->state = CONN_HEAD;
	if (unwrap(c, 0) < 0)
		conn_close(c);
	else
		conn_refuse_plain(c);
}

static void handshake_look(struct http_conn *c, const struct tls_server *s)
{
	if (s->stream.state == TLS_OPEN) {
		conn_begin(c);
	} else if (tls_server_met_http(s)) {
		turn_plain(c);
	} else {
		if (s->stream.error > 0)
			log_failure(c);
		conn_close(c);
	}
}

/* What a stream tells of, as the loop tells it of a socket. */
static unsigned tls_events(const struct http_conn *c, const struct tls_stream *t)
{
	if (c->w.want & LOOP_READ && (t->state != TLS_OPEN || tls_readable(t).n > 0))
		return LOOP_READ;
	if (c->w.want & LOOP_WRITE)
		return LOOP_WRITE;
	return c->w.want & LOOP_HANGUP && t->hung ? LOOP_HANGUP : 0;
}

/* A peer that has ended the connection reads no answer either (RFC 5246 section 7.2.1). */
static void open_changed(struct http_conn *c, const struct tls_stream *t)
{
	unsigned events = tls_events(c, t);

	if (t->state != TLS_OPEN && !(events & LOOP_READ))
		conn_close(c);
	else if (events)
		conn_ready(c, events);
}

static void tls_changed(struct tls_stream *t)
{
	struct tls_server *s = container_of(t, struct tls_server, stream);
	struct http_conn *c = conn_of_tls(s);

	if (t->state == TLS_HANDSHAKE)
		return;
	if (c->state == CONN_HANDSHAKE)
		handshake_look(c, s);
	if (c->tls)
		open_changed(c, t);
}

/* --- opening, closing --- */

static int tls_open(struct http_conn *c, int fd)
{
	struct tls_server *s = conn_tls(c);
	int r;

	s->stream.changed = tls_changed;
	r = tls_server_start(s, fd);
	c->tls = r == 0;
	c->w.fd = r == 0 ? fd : -1;
	return r;
}

int wire_open(struct http_conn *c, int fd)
{
	int r;

	if (http_server->tls && !c->plain)
		return tls_open(c, fd);
	c->w.ready = plain_ready;
	r = watch_add(&c->w, fd, LOOP_READ);
	c->w.fd = fd;
	return r;
}

/* An answer that is given up is not kept by the kernel, either, for a peer that takes none of it.
 */
static void drop_unsent(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void wire_close(struct http_conn *c)
{
	if (c->state == CONN_SEND)
		drop_unsent(c->w.fd);
	if (c->tls) {
		tls_server_end(conn_tls(c));
		c->tls = false;
	} else if (c->w.fd >= 0) {
		watch_del(&c->w);
		shutdown(c->w.fd, SHUT_RDWR); /* a forked worker may have the descriptor, too */
		close(c->w.fd);
	}
}

int wire_shut(struct http_conn *c)
{
	int r = c->tls ? unwrap(c, LOOP_READ) : 0;

	shutdown(c->w.fd, SHUT_WR);
	watch_want(&c->w, LOOP_READ);
	return r;
}

/* --- bytes --- */

void wire_want(struct http_conn *c, unsigned want)
{
	if (c->tls) {
		c->w.want = want;
		tls_want(&conn_tls(c)->stream, want & (LOOP_READ | LOOP_HANGUP));
	} else {
		watch_want(&c->w, want);
	}
}

static ssize_t tls_read(struct tls_stream *t, void *p, size_t n)
{
	struct slice s = slice_head(tls_readable(t), n);

	if (s.n == 0)
		return t->state == TLS_OPEN ? -EAGAIN : t->state == TLS_CLOSED ? 0 : -ECONNRESET;
	memcpy(p, s.p, s.n);
	tls_consumed(t, s.n);
	return (ssize_t)s.n;
}

ssize_t wire_read(struct http_conn *c, void *p, size_t n)
{
	ssize_t r;

	if (c->tls)
		return tls_read(&conn_tls(c)->stream, p, n);
	r = recv(c->w.fd, p, n, MSG_DONTWAIT);
	return r < 0 ? -errno : r;
}

/* Forgets n bytes at the front of the parts. */
static void parts_drop(struct slice *parts, int *count, size_t n)
{
	int i = 0;

	while (i < *count && n >= parts[i].n)
		n -= parts[i++].n;
	for (int k = i; k < *count; k++)
		parts[k - i] = parts[k];
	*count -= i;
	if (*count)
		parts[0] = slice_from(parts[0], n);
}

static int plain_send(int fd, struct slice *parts, int *count)
{
	struct iovec v[HTTP_PARTS_MAX + 1];
	struct msghdr m = { .msg_iov = v };
	ssize_t n;

	while (*count) {
		for (int i = 0; i < *count; i++)
			v[i] = (struct iovec){ (void *)(uintptr_t)parts[i].p, parts[i].n };
		m.msg_iovlen = (__typeof__(m.msg_iovlen))*count; /* size_t or int, as libc has it */
		n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		parts_drop(parts, count, (size_t)n);
	}
	return 0;
}

static int tls_send(struct tls_stream *t, struct slice *parts, int *count)
{
	if (t->state != TLS_OPEN)
		return -EPIPE;
	while (*count) {
		size_t n = tls_write(t, parts[0]);
		bool all = n == parts[0].n;

		parts_drop(parts, count, n);
		if (!all)
			break;
	}
	if (!*count)
		tls_flush(t);
	return tls_send_error(t);
}

int wire_send(struct http_conn *c, struct slice *parts, int *count)
{
	if (c->tls)
		return tls_send(&conn_tls(c)->stream, parts, count);
	return plain_send(c->w.fd, parts, count);
}

bool wire_busy(const struct http_conn *c)
{
	return c->tls && !tls_sent(&conn_tls(c)->stream);
}

bool wire_is_dead(const struct http_conn *c)
{
	char byte;

	return recv(c->w.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno != EAGAIN;
}
