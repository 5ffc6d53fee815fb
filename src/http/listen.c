/* Listening sockets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "http/conn.h"

static struct listener {
	struct watch w;
	bool plain;
} listeners[LISTENERS_MAX];
static int listeners_n;
static struct timer pause_timer;

/* Out of descriptors: the kernel would report the waiting connection again and again. */
static void listen_want(unsigned want)
{
	for (int i = 0; i < listeners_n; i++)
		watch_want(&listeners[i].w, want);
}

static void pause_over(struct timer *t)
{
	(void)t;
	listen_want(LOOP_READ);
}

static void listen_pause(void)
{
	pause_timer.fire = pause_over;
	timer_set(&pause_timer, ACCEPT_PAUSE_MS);
	listen_want(0);
}

static bool accept_one(const struct listener *l)
{
	union socket_address a = { 0 };
	socklen_t len = sizeof(a);
	struct http_conn *c;
	int on = 1, fd;

	if (conn_is_soon_free()) { /* until then they wait in the kernel's queue */
		listen_pause();
		return false;
	}
	fd = accept4(l->w.fd, &a.any, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			listen_pause();
		return errno == EINTR || errno == ECONNABORTED;
	}
	c = conn_take();
	if (!c) { /* all have a running request */
		close(fd);
		return true;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	address_from_socket(&a, c->peer);
	c->plain = l->plain;
	conn_open(c, fd);
	return true;
}

static void accept_ready(struct watch *w, unsigned events)
{
	const struct listener *l = container_of(w, struct listener, w);

	(void)events;
	/* a newcomer is served before so many others push it out again */
	for (unsigned i = 0; i < ACCEPTS_MAX && 2 * i < http_server->max_conns && accept_one(l);
		i++)
		;
}

/* Takes fd, which is closed when it cannot be had. */
static int listener_add(int fd, bool plain)
{
	struct listener *l = &listeners[listeners_n];
	int unsent = HTTP_UNSENT_MAX, r;

	/* connections inherit it */
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	l->plain = plain;
	l->w.ready = accept_ready;
	r = listeners_n < LISTENERS_MAX ? watch_add(&l->w, fd, LOOP_READ) : -EMFILE;
	if (r == 0)
		listeners_n++;
	else
		close(fd);
	return r;
}

int http_listen_given(int fd, bool plain)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
		fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return listener_add(fd, plain);
}

static int listen_at(const union socket_address *a, socklen_t len, bool plain)
{
	int on = 1, r;
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr))
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, &a->any, len) < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return listener_add(fd, plain);
}

static int listen_number(struct slice s, unsigned port, bool plain)
{
	unsigned char address[16];
	union socket_address a;

	if (!address_parse(s, address))
		return -EINVAL;
	return listen_at(&a, address_to_socket(address, port, &a), plain);
}

/* Clients try ::1 or 127.0.0.1 first, so both must answer; a machine without IPv6 has only one. */
static int listen_localhost(unsigned port, bool plain)
{
	int r = listen_number(LIT("127.0.0.1"), port, plain);
	int r6 = r < 0 ? r : listen_number(LIT("::1"), port, plain);

	return r6 == -EAFNOSUPPORT || r6 == -EADDRNOTAVAIL ? 0 : r6;
}

static int listen_on(const char *host, unsigned port, bool plain)
{
	struct slice s = slice_of(host);

	if (http_same(s, "localhost"))
		return listen_localhost(port, plain);
	if (s.n > 1 && s.p[0] == '[' && s.p[s.n - 1] == ']')
		s = (struct slice){ s.p + 1, s.n - 2 };
	return listen_number(s, port, plain);
}

int http_listen(const char *host, unsigned port)
{
	return listen_on(host, port, false);
}

int http_listen_plain(const char *host, unsigned port)
{
	return listen_on(host, port, true);
}

void listen_stop(void)
{
	while (listeners_n > 0) {
		struct watch *w = &listeners[--listeners_n].w;

		watch_del(w);
		close(w->fd);
	}
}
