/*
 * Inside of the HTTP server: the connection table, shared by its files.
 *
 * An idle connection is only a struct http_conn. What an unfinished request or answer needs lies in a parallel table
 * of struct extra, whose pages are touched only where one was needed.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include "bounds.h"
#include "http/chunked.h"
#include "http/server.h"
#include "loop/loop.h"

enum conn_state {
	CONN_FREE,
	CONN_HEAD,	/* between requests, or a head has begun */
	CONN_BODY,	/* the head is there, the body is not */
	CONN_WAIT,	/* somebody works on the answer */
	CONN_SEND,	/* the answer is on its way */
	CONN_LINGER,	/* our side is closed; what still comes is dropped */
};

/* Deadlines of one length each, so that a queue is a list in order of time. */
enum conn_queue { QUEUE_NONE, QUEUE_HEAD, QUEUE_BODY, QUEUE_IDLE, QUEUE_SEND, QUEUE_QUIET, QUEUE_LINGER, QUEUES };

struct http_conn {
	struct watch w;
	struct http_conn *prev, *next;	/* in its queue; next also links free ones */
	int64_t due;
	const struct http_waiter *waiter;
	void *user;
	unsigned char peer[16];
	unsigned char state, queue;
	unsigned char minor;
	bool keep_alive;
	bool head_only;		/* the request was HEAD */
	bool stream;		/* an answer of unknown length has begun */
	bool half;		/* the peer will send no more */
	bool reading;		/* inside conn_feed: it goes on with what was pipelined */
	bool owed;		/* waiter->sent() is due */
};

struct upload {
	struct buf text;
	bool used;
};

struct extra {
	struct buf in;		/* an unfinished request, or pipelined bytes while one is answered */
	struct buf out;		/* the rest of what was copied for sending */
	struct slice parts[HTTP_PARTS_MAX];	/* still to be sent, after out */
	int parts_n;
	size_t out_sent;
	size_t scanned;		/* of the head in `in` */
	size_t head;		/* length of the head in `in`, in CONN_BODY */
	int64_t left;		/* bytes of the body still to come; -1: chunked */
	struct chunked chunked;
	struct upload *upload;	/* NULL: the body is collected in `in` */
};

/* table.c */
extern const struct http_server *http_server;
struct extra *conn_extra(const struct http_conn *c);
/* A free slot, at need by closing the connection that has waited longest without a request; NULL: all are busy. */
struct http_conn *conn_take(void);
void conn_close(struct http_conn *c);
void conn_queue(struct http_conn *c, enum conn_queue q);	/* with a new deadline */
bool http_stopping(void);

/* conn.c */
void conn_open(struct http_conn *c, int fd);
void conn_next(struct http_conn *c);	/* the answer is out: on with the connection */
void conn_late(struct http_conn *c);	/* its deadline has passed */

/* listen.c */
void listen_stop(void);

/* send.c */
void conn_write(struct http_conn *c);	/* the socket takes bytes again */

#endif
