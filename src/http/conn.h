/*
 * Inside of the HTTP server: the connection table, shared by its files.
 *
 * An idle connection is only a struct http_conn. What an unfinished request or answer needs lies in
 * a parallel table of struct extra, whose pages are touched only where one was needed.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include <sys/types.h>

#include "bounds.h"
#include "http/chunked.h"
#include "http/server.h"
#include "loop/loop.h"
#include "tls/server.h"

enum conn_state {
	CONN_FREE,
	CONN_HANDSHAKE,
	CONN_HEAD,   /* between requests, or a head has begun */
	CONN_BODY,   /* the head is there, the body is not */
	CONN_WAIT,   /* somebody works on the answer */
	CONN_SEND,   /* the answer is on its way */
	CONN_LINGER, /* our side is closed; what still comes is dropped */
};

/* Deadlines of one length each, so that a queue is a list in order of time. */
enum conn_queue {
	QUEUE_NONE,
	QUEUE_HANDSHAKE,
	QUEUE_MORE, /* a pause: further requests are there */
	QUEUE_HEAD,
	QUEUE_BODY,
	QUEUE_IDLE,
	QUEUE_SEND,
	QUEUE_QUIET,
	QUEUE_LINGER,
	QUEUES
};

struct http_conn {
	struct watch w; /* with TLS the stream's own is watched, and this one only says what for */
	struct http_conn *prev, *next; /* in its queue; next also links free ones */
	int64_t due;
	const struct http_waiter *waiter;
	void *user;
	unsigned char peer[16];
	unsigned char state, queue;
	unsigned char minor;
	bool keep_alive;
	bool head_only; /* the request was HEAD */
	bool stream;    /* an answer of unknown length has begun */
	bool half;      /* the peer will send no more */
	bool paused;    /* its bytes wait until others had their turn */
	bool reading;   /* inside head_feed or body_end: it goes on with what was pipelined */
	bool owed;      /* waiter->sent() is due */
	bool tls;       /* its bytes go through conn_tls() */
	bool trusted;   /* http_trust */
	bool plain;     /* came by http_listen_plain */
};

struct upload {
	struct buf text;
	bool used;
};

struct extra {
	struct buf in;  /* an unfinished request, or pipelined bytes while one is answered */
	struct buf out; /* the rest of what was copied for sending */
	struct slice parts[HTTP_PARTS_MAX]; /* still to be sent, after out */
	int parts_n;
	size_t out_sent;
	size_t scanned; /* of the head in `in` */
	size_t head;    /* length of the head in `in`, in CONN_BODY */
	size_t body_max;
	int64_t left; /* bytes of the body still to come; -1: chunked */
	struct chunked chunked;
	struct upload *upload; /* NULL: the body is collected in `in`, behind the head */
	size_t held;           /* memory of `in` and `out` as conn_held has counted it */
};

/* table.c */
extern const struct http_server *http_server;
struct extra *conn_extra(const struct http_conn *c);
struct tls_server *conn_tls(const struct http_conn *c);
struct http_conn *conn_of_tls(const struct tls_server *s);
/* A free slot, at need by closing the connection that has waited longest without a request; NULL:
 * all are busy. */
struct http_conn *conn_take(void);
/* There is none, but the handshakes that are going on will soon be done or given up. */
bool conn_is_soon_free(void);
void conn_close(struct http_conn *c);
void conn_queue(struct http_conn *c, enum conn_queue q); /* with a new deadline */
/* `in` or `out` may hold more memory than before, or less. When all hold too much the connections
 * are closed whose peers are slowest, but not this one. */
void conn_held(struct http_conn *c);
bool http_stopping(void);

/* route.c */
/* An answer after which the connection ends, since what follows in it cannot be told apart any
 * more. */
void conn_refuse(struct http_conn *c, int status);
void conn_refuse_plain(struct http_conn *c); /* HTTP where TLS is spoken */
/* The route of that path and method; NULL and the methods that are allowed there, 0: no such path.
 */
const struct http_route *route_find(
	const struct http_conn *c, const struct http_head *h, unsigned *allowed);
/*
 * The route, once its gate has let the request pass. NULL: answered; where a body follows that
 * nobody will read the connection ends after that.
 */
const struct http_route *route_request(struct http_request *r, bool body_there);

/* body.c */
/* Keeps bytes in the connection's own memory. False: no memory. */
bool conn_keep(struct http_conn *c, struct slice bytes);
/* The body behind the head, as far as it stands complete in text[0..n); *used is 0 when not. 0 or a
 * status to refuse. */
int body_here(const struct http_head *h, char *text, size_t head, size_t n, struct slice *body,
	size_t *used) __attribute__((warn_unused_result));
/*
 * The body, of at most max bytes, is not there yet: one that is small or has to be will be
 * collected behind its head, any other in an upload buffer. 0 or a status to refuse.
 */
int body_begin(struct http_conn *c, const struct http_head *h, size_t head, size_t max)
	__attribute__((warn_unused_result));
/* What has come behind the head so far, and is in `in`, goes where the body is collected. */
void body_first(struct http_conn *c);
/* Body bytes to where it is collected. 1: complete, *in is what follows; 0: more to come; or a
 * status to refuse. */
int body_take(struct extra *x, struct slice *in) __attribute__((warn_unused_result));
/* What was collected. */
struct slice body_all(const struct extra *x);
void upload_give(struct extra *x);

/* wire.c: the bytes of a connection, as they are or through TLS */
int wire_open(struct http_conn *c, int fd) __attribute__((warn_unused_result)); /* 0 or -errno */
void wire_close(struct http_conn *c);
/* What conn_ready is to be called for: LOOP_READ, LOOP_WRITE, LOOP_HANGUP, LOOP_GONE (not through
 * TLS). */
void wire_want(struct http_conn *c, unsigned want);
/* > 0 bytes, 0: the peer has ended, or -errno (-EAGAIN). */
ssize_t wire_read(struct http_conn *c, void *p, size_t n);
/* As much as the socket takes now; what has gone is cut off the parts. 0 or -errno. */
int wire_send(struct http_conn *c, struct slice *parts, int *count);
/* Bytes that wire_send has taken are still to leave. */
bool wire_busy(const struct http_conn *c);
/* The peer, which has hung up, will not read either. */
bool wire_is_dead(const struct http_conn *c);
/* We send no more; what still comes is read as it is. 0 or -errno. */
int wire_shut(struct http_conn *c) __attribute__((warn_unused_result));

/* conn.c */
void conn_open(struct http_conn *c, int fd);
void conn_ready(struct http_conn *c, unsigned events);
void conn_begin(struct http_conn *c); /* it may send its first request */
void conn_next(struct http_conn *c);  /* the answer is out: on with the connection */
void conn_late(struct http_conn *c);  /* its deadline has passed */

/* listen.c */
void listen_stop(void);

/* send.c */
void conn_write(struct http_conn *c); /* the socket takes bytes again */

#endif
