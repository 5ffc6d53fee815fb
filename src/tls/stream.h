/*
 * The pump between a TLS engine and a non-blocking socket, the same for clients and servers. It
 * moves records while the socket takes and gives them, and never blocks.
 *
 * Who sets up an engine embeds a tls_stream in memory that stays, fills in its first part and calls
 * tls_stream_start. Who uses the connection sees states and plain bytes. TLS_CLOSED: the peer has
 * said close_notify, so what was read is complete. TLS_FAILED with error < 0: the connection broke
 * off, by an end without close_notify (-ECONNRESET) or as the kernel says. What came before either
 * stays readable.
 */
#ifndef TLS_STREAM_H
#define TLS_STREAM_H

#include "base/slice.h"
#include "loop/loop.h"
#include "tls/turn.h"

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };

enum { TLS_FIRST = 5 }; /* a record's head */

struct tls_stream {
	/*
	 * From the loop, never from inside a function of this header: the state changed, there are
	 * bytes to read, there is room to write again after tls_write took less than all or
	 * tls_flush left something behind, or the peer has hung up. May come once too often; may
	 * end the stream and start it again.
	 */
	void (*changed)(struct tls_stream *t);
	/* Makes the engine, which is seeded now, ready for a handshake. False: it has the error. */
	bool (*reset)(struct tls_stream *t);
	/* The handshake is done: called before changed(), from inside. NULL: nothing to do then. */
	void (*opened)(struct tls_stream *t);
	void *engine; /* br_ssl_engine_context, its buffers are set; NULL: not started */

	enum tls_state state;
	int error; /* in TLS_FAILED: > 0 the engine's code, < 0 -errno */
	bool hung; /* the peer will send no more, behind bytes that wait */

	/* private to stream.c; watch.fd is the socket */
	struct watch watch;
	struct timer wait; /* for the kernel's random numbers, at early boot */
	struct turn turn;  /* for the next step of the handshake */
	struct task tell;
	unsigned want;       /* LOOP_READ, LOOP_HANGUP, as tls_want said */
	enum tls_state told; /* the state the owner knows */
	bool full;           /* more was written than has left */
	int mute;            /* -errno of a failed send; what the peer had sent is still read */
	size_t first_n;
	unsigned char first[TLS_FIRST]; /* of what the peer sent: who is no TLS server? */
};

/* fd is connected and non-blocking; it is the stream's from now on, also after an error. 0 or
 * -errno. */
int tls_stream_start(struct tls_stream *t, int fd) __attribute__((warn_unused_result));
/* Says close_notify where that makes sense, closes the socket. changed() comes no more. */
void tls_stream_end(struct tls_stream *t);
/* The same, but the socket stays open and is the caller's again. */
int tls_stream_leave(struct tls_stream *t) __attribute__((warn_unused_result));

/*
 * What the owner wants to hear of once the handshake is done: LOOP_READ, as at first: bytes and the
 * end; LOOP_HANGUP: the end alone, while bytes wait; nothing: then all waits in the socket.
 */
void tls_want(struct tls_stream *t, unsigned want);

/* Bytes from the peer, or none; good until tls_consumed or the next turn of the loop. */
struct slice tls_readable(const struct tls_stream *t);
/* The first n of them are done with and wiped. Before all are, nothing more is read: the peer
 * waits. */
void tls_consumed(struct tls_stream *t, size_t n);
/* Takes what fits and tells how much. What does not fill a record leaves with tls_flush. */
size_t tls_write(struct tls_stream *t, struct slice s);
void tls_flush(struct tls_stream *t);
/* Has all that was written and flushed left for the socket? */
bool tls_sent(const struct tls_stream *t);
/* -errno when the socket takes nothing any more; 0. */
int tls_send_error(const struct tls_stream *t);

#endif
