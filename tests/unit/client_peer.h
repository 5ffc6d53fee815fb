/*
 * For tests of the HTTPS client: TLS is played by plain sockets, so that the other side is a few
 * lines of blocking code in a process of its own.
 */
#ifndef CLIENT_PEER_H
#define CLIENT_PEER_H

#include "ear.h"
#include "fly.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "bounds.h"
#include "http/client.h"
#include "tls/client.h"

/* --- TLS without TLS --- */

enum { PLAIN_MAX = 32, PLAIN_IN = 16 * KIB };

static struct plain {
	struct tls_client *c;
	size_t n;
	char in[PLAIN_IN];
} plains[PLAIN_MAX];

/* What the next handshakes come to. */
static bool plain_stall;
static int plain_error;
/* How many bytes go out before the socket seems full for good. */
static size_t plain_takes = SIZE_MAX;
/* Does the end of the stream come with a close_notify? */
static bool plain_orderly;

const char tls_no_roots[] = "CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set";

static inline struct plain *plain_of(const struct tls_stream *t)
{
	for (int i = 0; i < PLAIN_MAX; i++)
		if (plains[i].c && &plains[i].c->stream == t)
			return &plains[i];
	return NULL;
}

static inline void plain_state(struct tls_stream *t, enum tls_state state, int error)
{
	t->state = state;
	t->error = error;
	watch_want(&t->watch, t->full ? LOOP_WRITE : 0);
}

static inline void plain_read(struct tls_stream *t)
{
	struct plain *p = plain_of(t);
	ssize_t n;

	if (p->n == PLAIN_IN)
		return;
	n = recv(t->watch.fd, p->in + p->n, PLAIN_IN - p->n, MSG_DONTWAIT);
	if (n > 0)
		p->n += (size_t)n;
	else if (n == 0 && plain_orderly)
		plain_state(t, TLS_CLOSED, 0);
	else if (n == 0 || errno != EAGAIN)
		plain_state(t, TLS_FAILED, n == 0 ? -ECONNRESET : -errno);
}

static inline void plain_ready(struct watch *w, unsigned events)
{
	struct tls_stream *t = container_of(w, struct tls_stream, watch);

	if (events & LOOP_READ)
		plain_read(t);
	if (t->full && (events & LOOP_WRITE)) {
		t->full = false;
		watch_want(w, LOOP_READ);
	}
	t->changed(t);
}

static inline void plain_tell(struct task *task)
{
	struct tls_stream *t = container_of(task, struct tls_stream, tell);

	if (!plain_of(t) || plain_stall)
		return;
	plain_state(t, plain_error ? TLS_FAILED : TLS_OPEN, plain_error);
	if (!plain_error)
		watch_want(&t->watch, LOOP_READ);
	t->changed(t);
}

int tls_client_start(struct tls_client *c, int fd, struct tls_peer *peer)
{
	struct tls_stream *t = &c->stream;
	int i = 0;

	while (plains[i].c)
		CHECK(++i < PLAIN_MAX);
	plains[i] = (struct plain){ .c = c };
	c->peer = peer;
	t->state = TLS_HANDSHAKE;
	t->full = false;
	t->watch.ready = plain_ready;
	t->tell.run = plain_tell;
	CHECK(watch_add(&t->watch, fd, 0) == 0);
	loop_defer(&t->tell);
	return 0;
}

void tls_client_end(struct tls_client *c)
{
	struct plain *p = plain_of(&c->stream);
	int fd = c->stream.watch.fd;

	if (!p)
		return;
	p->c = NULL;
	watch_del(&c->stream.watch);
	close(fd);
}

struct slice tls_readable(const struct tls_stream *t)
{
	const struct plain *p = plain_of(t);

	return (struct slice){ p->in, p->n };
}

void tls_consumed(struct tls_stream *t, size_t n)
{
	struct plain *p = plain_of(t);

	CHECK(n <= p->n);
	p->n -= n;
	memmove(p->in, p->in + n, p->n);
}

size_t tls_write(struct tls_stream *t, struct slice s)
{
	ssize_t n;

	s = slice_head(s, plain_takes);
	n = send(t->watch.fd, s.p, s.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	plain_takes -= n > 0 ? (size_t)n : 0;
	t->full = n < (ssize_t)s.n;
	if (t->full)
		watch_want(&t->watch, LOOP_READ | LOOP_WRITE);
	return n < 0 ? 0 : (size_t)n;
}

void tls_flush(struct tls_stream *t)
{
	(void)t;
}

void tls_client_put_failure(const struct tls_client *c, struct buf *b)
{
	buf_printf(b, "TLS error %d", c->stream.error);
}

/* --- the other side, in a process of its own --- */

enum { SEEN_MAX = 64, SEEN_TEXT = 8 * KIB };

/* What it has seen, for both processes. */
static struct seen {
	int connections, requests, closed;
	int left; /* connections that the other side has ended, where it counts them */
	bool go;  /* told by the test, where the other side waits for it */
	char text[SEEN_MAX][SEEN_TEXT]; /* requests in order, cut */
} * seen;

static int peer_listener;
static unsigned peer_port;

static inline void peer_write(int fd, struct slice s)
{
	while (s.n) {
		ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);

		if (n < 0)
			return;
		s = slice_from(s, (size_t)n);
	}
}

static inline void peer_say(int fd, const char *text)
{
	peer_write(fd, slice_of(text));
}

static inline int peer_accept(void)
{
	int fd = accept(peer_listener, NULL, NULL);

	CHECK(fd >= 0);
	seen->connections++;
	return fd;
}

/* Reads one request with its body. False: the connection ended before. */
static inline bool peer_request(int fd)
{
	char *text = seen->text[seen->requests % SEEN_MAX], *end, *length, some[4 * KIB];
	size_t n = 0, want = 0;

	while (!want || n < want) {
		/* the head byte by byte, so that nothing behind the request is taken */
		size_t most = !want ? 1 : want - n < sizeof(some) ? want - n : sizeof(some);
		ssize_t r = recv(fd, some, most, 0);

		if (r <= 0) {
			seen->closed++;
			return false;
		}
		for (ssize_t i = 0; i < r; i++, n++)
			if (n < SEEN_TEXT - 1)
				text[n] = some[i];
		text[n < SEEN_TEXT ? n : SEEN_TEXT - 1] = '\0';
		end = want ? NULL : strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		length = strstr(text, "Content-Length: ");
		want = (size_t)(end + 4 - text) + (length ? (size_t)atol(length + 16) : 0);
	}
	seen->requests++;
	return true;
}

#define PEER_OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

/* Answers whatever comes, on one connection after the other. */
static inline void peer_answers(void)
{
	for (;;) {
		int fd = peer_accept();

		while (peer_request(fd))
			peer_say(fd, PEER_OK);
		close(fd);
	}
}

static inline int listen_on(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 64) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	*port = ntohs(a.sin_port);
	return fd;
}

/* Has somebody connected to that listener? */
static inline bool connection_waits(int listener)
{
	struct pollfd p = { listener, POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

static struct http_origin peer_origin;
static struct tls_roots peer_roots;

static inline void peer_url(const char *host, const char *prefix)
{
	char url[600];
	const char *why;

	snprintf(url, sizeof(url), "https://%s:%u%s", host, peer_port, prefix);
	CHECK(http_origin_parse(&peer_origin, slice_of(url), &why) == 0);
	http_client_setup(&peer_origin, &peer_roots);
}

/* Starts the other side; the client is set up for it as 127.0.0.1. */
static inline pid_t peer_start(void (*script)(void))
{
	pid_t pid;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
	peer_listener = listen_on(&peer_port);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(90);
		script();
		_exit(0);
	}
	close(peer_listener);
	peer_url("127.0.0.1", "");
	return pid;
}

/* --- calls --- */

struct ask {
	struct http_call c;
	char body[4 * KIB];
	size_t n;
	int done;
	int64_t took;
};

static int asks_open; /* started and not done */

static inline bool ask_part(struct http_call *c, struct slice bytes)
{
	struct ask *a = container_of(c, struct ask, c);

	CHECK(bytes.n > 0 && c->status > 0);
	for (size_t i = 0; i < bytes.n && a->n < sizeof(a->body) - 1; i++)
		a->body[a->n++] = bytes.p[i];
	return true;
}

static inline void ask_done(struct http_call *c)
{
	struct ask *a = container_of(c, struct ask, c);

	a->done++;
	a->took = clock_ms() - a->took;
	a->body[a->n] = '\0';
	if (--asks_open == 0)
		loop_stop(0);
}

static inline void ask_start(struct ask *a, const char *method, const char *target)
{
	a->n = 0;
	a->done = 0;
	a->took = loop_now();
	a->c.method = method;
	a->c.target = slice_of(target);
	a->c.part = ask_part;
	a->c.done = ask_done;
	if (!a->c.limit_ms)
		a->c.limit_ms = 30000;
	asks_open++;
	http_call_start(&a->c);
	CHECK(a->done == 0);
}

/* Until all calls that were started are done. */
static inline void asks_run(void)
{
	CHECK(asks_open > 0);
	loop_run();
	CHECK(asks_open == 0);
}

static inline void ask(struct ask *a, const char *method, const char *target)
{
	ask_start(a, method, target);
	asks_run();
	CHECK(a->done == 1);
}

static inline bool ask_says(const struct ask *a, enum http_call_failure failure, const char *words)
{
	if (a->c.failure == failure && strstr(a->c.text, words))
		return true;
	fprintf(stderr, "failure %d: %s\n", (int)a->c.failure, a->c.text);
	return false;
}

static inline bool ask_ok(const struct ask *a, int status, const char *body)
{
	if (a->c.failure == HTTP_CALL_OK && a->c.status == status && !a->c.text[0] &&
		strcmp(a->body, body) == 0)
		return true;
	fprintf(stderr, "failure %d: %s; status %d: %s\n", (int)a->c.failure, a->c.text,
		a->c.status, a->body);
	return false;
}

#endif
