#include "tls/stream.h"

#include <bearssl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "base/secret.h"
#include "bounds.h"

enum {
	SEED_SIZE = 32,
	READS_MAX =
		64, /* in one turn: a peer that never stops sending nothing of use lets others in */
};

static void fail(struct tls_stream *t, int error)
{
	if (t->state == TLS_FAILED || t->state == TLS_CLOSED)
		return;
	t->state = TLS_FAILED;
	t->error = error;
}

/* --- records to and from the socket --- */

/* As far as the socket takes them. */
static void records_send(struct tls_stream *t)
{
	unsigned char *p;
	size_t len;
	ssize_t n;

	while (!t->mute && (p = br_ssl_engine_sendrec_buf(t->engine, &len)) != NULL) {
		n = send(t->watch.fd, p, len, MSG_NOSIGNAL);
		if (n >= 0)
			br_ssl_engine_sendrec_ack(t->engine, (size_t)n);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			t->mute = -errno;
	}
}

static void first_note(struct tls_stream *t, const unsigned char *p, size_t n)
{
	for (; n > 0 && t->first_n < TLS_FIRST; n--)
		t->first[t->first_n++] = *p++;
}

/* One read. False: there is nothing to read now, or nowhere to put it. */
static bool record_receive(struct tls_stream *t)
{
	size_t len;
	unsigned char *p = br_ssl_engine_recvrec_buf(t->engine, &len);
	ssize_t n;

	if (!p)
		return false;
	n = recv(t->watch.fd, p, len, 0);
	if (n > 0) {
		first_note(t, p, (size_t)n);
		br_ssl_engine_recvrec_ack(t->engine, (size_t)n);
		return true;
	}
	if (n == 0)
		fail(t, t->mute ? t->mute : -ECONNRESET);
	else if (errno != EAGAIN && errno != EINTR)
		fail(t, t->mute ? t->mute : -errno);
	return false;
}

static void open_now(struct tls_stream *t)
{
	t->state = TLS_OPEN;
	if (t->opened)
		t->opened(t);
}

/* What the engine has come to. */
static void state_follow(struct tls_stream *t)
{
	const br_ssl_engine_context *e = t->engine;
	unsigned s = br_ssl_engine_current_state(e);
	int error = br_ssl_engine_last_error(e);

	if (s == BR_SSL_CLOSED && error != BR_ERR_OK)
		fail(t, error);
	else if (t->state == TLS_FAILED)
		return;
	else if (s == BR_SSL_CLOSED || (t->mute && e->shutdown_recv))
		t->state = TLS_CLOSED;
	else if (t->state == TLS_HANDSHAKE && s & (BR_SSL_SENDAPP | BR_SSL_RECVAPP))
		open_now(t);
}

/* Is there somebody for what the peer sends, bytes or an end? */
static bool reads(const struct tls_stream *t)
{
	return t->state == TLS_HANDSHAKE || (t->state == TLS_OPEN && t->want);
}

static void wants_set(struct tls_stream *t)
{
	unsigned want = 0;
	size_t len;

	if (reads(t) && br_ssl_engine_recvrec_buf(t->engine, &len))
		want |= LOOP_READ;
	if (t->state < TLS_CLOSED && !t->mute && br_ssl_engine_sendrec_buf(t->engine, &len))
		want |= LOOP_WRITE;
	if (t->state == TLS_OPEN && !t->hung)
		want |= t->want & LOOP_HANGUP;
	watch_want(&t->watch, want);
}

/* Until the socket or the owner has to do something first. */
static void pump(struct tls_stream *t)
{
	int count = 0;

	do {
		records_send(t);
		state_follow(t);
	} while (reads(t) && tls_readable(t).n == 0 && count++ < READS_MAX && record_receive(t));
	wants_set(t);
}

/* --- the owner hears of it --- */

/* A socket that takes nothing any more is news, too. */
static bool has_room(const struct tls_stream *t)
{
	size_t len;

	return t->mute || br_ssl_engine_sendapp_buf(t->engine, &len) != NULL;
}

static void tell(struct tls_stream *t)
{
	bool room = t->full && has_room(t);
	bool bytes = t->want & LOOP_READ && tls_readable(t).n > 0;

	if (t->state == t->told && !room && !bytes && !t->hung)
		return;
	t->told = t->state;
	if (room)
		t->full = false;
	t->changed(t);
}

static void turn_run(struct turn *turn)
{
	struct tls_stream *t = container_of(turn, struct tls_stream, turn);

	pump(t);
	tell(t);
}

static void stream_ready(struct watch *w, unsigned events)
{
	struct tls_stream *t = container_of(w, struct tls_stream, watch);

	if (t->state == TLS_HANDSHAKE) {
		watch_want(w, 0);
		turn_wait(&t->turn);
		return;
	}
	pump(t);
	/* its bytes are in the way of the end that it may have said */
	t->hung = events & LOOP_HANGUP && t->state == TLS_OPEN && tls_readable(t).n > 0;
	tell(t);
}

/* What happened while the owner was calling us is told before the loop sleeps. */
static void tell_run(struct task *task)
{
	struct tls_stream *t = container_of(task, struct tls_stream, tell);

	if (t->engine)
		tell(t);
}

/* --- start and end --- */

/* 0 or -EAGAIN. */
static int seed(struct tls_stream *t)
{
	unsigned char bytes[SEED_SIZE];
	int r = random_key(bytes, sizeof(bytes));

	if (r == 0)
		br_ssl_engine_inject_entropy(t->engine, bytes, sizeof(bytes));
	secret_wipe(bytes, sizeof(bytes));
	return r;
}

static void begin(struct tls_stream *t)
{
	if (seed(t) < 0) {
		timer_set(&t->wait, ENTROPY_POLL_MS);
		return;
	}
	if (!t->reset(t))
		fail(t, br_ssl_engine_last_error(t->engine));
	records_send(t); /* a client begins; what is read, and may be costly, waits its turn */
	wants_set(t);
	if (t->state != t->told)
		loop_defer(&t->tell);
}

static void wait_fire(struct timer *timer)
{
	begin(container_of(timer, struct tls_stream, wait));
}

int tls_stream_start(struct tls_stream *t, int fd)
{
	int on = 1, r;

	t->state = t->told = TLS_HANDSHAKE;
	t->error = t->mute = 0;
	t->full = t->hung = false;
	t->want = LOOP_READ;
	t->first_n = 0;
	t->watch.ready = stream_ready;
	t->wait.fire = wait_fire;
	t->turn.run = turn_run;
	t->tell.run = tell_run;
	r = watch_add(&t->watch, fd, 0);
	if (r < 0) {
		close(fd);
		t->engine = NULL;
		return r;
	}
	/* without it a small record waits 40 ms for the answer to the one before */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	begin(t);
	return 0;
}

/* An engine with bytes nobody has read would not go on to close (BearSSL 0.6). */
static void say_goodbye(struct tls_stream *t)
{
	struct slice unread;

	while ((unread = tls_readable(t)).n > 0)
		br_ssl_engine_recvapp_ack(t->engine, unread.n);
	br_ssl_engine_close(t->engine);
	records_send(t);
}

int tls_stream_leave(struct tls_stream *t)
{
	int fd = t->watch.fd;

	if (t->state == TLS_OPEN)
		say_goodbye(t);
	timer_clear(&t->wait);
	turn_leave(&t->turn);
	watch_del(&t->watch);
	t->watch.fd = -1;
	t->engine = NULL;
	return fd;
}

void tls_stream_end(struct tls_stream *t)
{
	int fd;

	if (!t->engine)
		return;
	fd = tls_stream_leave(t);
	shutdown(fd, SHUT_RDWR); /* a forked worker may have the descriptor, too */
	close(fd);
}

void tls_want(struct tls_stream *t, unsigned want)
{
	t->want = want;
	t->hung = false;
	wants_set(t);
	if (want & LOOP_READ && (tls_readable(t).n > 0 || t->state != t->told))
		loop_defer(&t->tell);
}

/* --- plain bytes --- */

struct slice tls_readable(const struct tls_stream *t)
{
	size_t len = 0;
	unsigned char *p = t->engine ? br_ssl_engine_recvapp_buf(t->engine, &len) : NULL;

	return (struct slice){ (const char *)p, p ? len : 0 };
}

/* The engine would keep them until others come, and there may be tokens in them. */
void tls_consumed(struct tls_stream *t, size_t n)
{
	size_t len;

	if (!t->engine || n == 0)
		return;
	secret_wipe(br_ssl_engine_recvapp_buf(t->engine, &len), n);
	br_ssl_engine_recvapp_ack(t->engine, n);
	wants_set(t);
}

size_t tls_write(struct tls_stream *t, struct slice s)
{
	size_t taken = 0, len;
	unsigned char *p;

	if (!t->engine)
		return 0;
	while (t->state == TLS_OPEN && taken < s.n) {
		p = br_ssl_engine_sendapp_buf(t->engine, &len);
		if (!p) {
			records_send(t);
			p = br_ssl_engine_sendapp_buf(t->engine, &len);
		}
		t->full = p == NULL;
		if (!p)
			break;
		len = slice_head(slice_from(s, taken), len).n;
		memcpy(p, s.p + taken, len);
		br_ssl_engine_sendapp_ack(t->engine, len);
		taken += len;
	}
	wants_set(t);
	return taken;
}

void tls_flush(struct tls_stream *t)
{
	if (!t->engine || t->state != TLS_OPEN)
		return;
	br_ssl_engine_flush(t->engine, 0);
	records_send(t);
	t->full = t->full || !tls_sent(t);
	wants_set(t);
}

bool tls_sent(const struct tls_stream *t)
{
	size_t len;

	return !t->engine || br_ssl_engine_sendrec_buf(t->engine, &len) == NULL;
}

int tls_send_error(const struct tls_stream *t)
{
	return t->mute;
}
