/*
 * Inside of the HTTPS client: its connections, shared by its files.
 *
 * A slot holds memory only between client_open and client_close. Who settles a call does that last:
 * the call and its memory may be gone afterwards, and the connection may work for another one.
 */
#ifndef HTTP_CLIENT_CONN_H
#define HTTP_CLIENT_CONN_H

#include "bounds.h"
#include "http/client.h"
#include "http/mask.h"
#include "http/reply.h"
#include "http/trace.h"
#include "loop/resolve.h"
#include "tls/client.h"

enum client_phase {
	CLIENT_FREE,
	CLIENT_RESOLVE,
	CLIENT_CONNECT,
	CLIENT_HANDSHAKE,
	CLIENT_BUSY, /* a request is on its way, or its reply */
	CLIENT_IDLE, /* kept for the next call */
};

struct client_conn {
	enum client_phase state;
	struct http_call *call; /* NULL when free or idle */
	bool reused;            /* the call is not the first on this connection */
	struct timer step;      /* the end of the present state, where it has one */

	/* opening */
	int64_t open_by; /* name, connection and TLS together, in loop_now */
	struct resolve names;
	int tried, error; /* addresses so far; what the last of them said, -errno */
	struct watch w;   /* while connecting */

	/* open */
	struct tls_client tls;
	struct buf out; /* the head of the request */
	size_t out_sent, body_sent;
	struct buf head; /* of the reply */
	struct http_reply reply;
	struct trace trace;
};

/* client.c */
extern const struct http_origin *client_origin;
extern struct tls_peer client_peer;
/* Ends the call: done() is called. It has no connection any more. */
void call_settle(struct http_call *c, enum http_call_failure failure);
/* It goes back to the head of the queue, for a new connection. */
void call_again(struct http_call *c);
/* A connection is free or idle again: calls that wait are looked at before the loop sleeps. */
void calls_look(void);

/* client_open.c */
/* Opens a connection for c. Failures come by client_fail, also at once. */
void client_open(struct client_conn *k, struct http_call *c);
void client_open_stop(struct client_conn *k); /* whatever it was waiting for */

/* client_conn.c */
/* May an idle connection take another call? */
bool client_usable(const struct client_conn *k);
void client_take(struct client_conn *k, struct http_call *c); /* an idle one */
void client_changed(struct tls_stream *t);
/* Closes; a call on it is not told. */
void client_close(struct client_conn *k);
/* Closes and settles the call with that failure, whose sentence is made first. */
void client_fail(struct client_conn *k, enum http_call_failure failure);

/* client_text.c */
/* The sentence about a failure, into c->text; k is the connection it happened on, or NULL. */
void call_say(struct http_call *c, const struct client_conn *k, enum http_call_failure failure);
/* The name of what k is at, as a timeout tells it. */
const char *client_phase(const struct client_conn *k);

#endif
