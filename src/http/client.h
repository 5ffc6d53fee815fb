/*
 * HTTPS client of one origin (the master): calls over a pool of MASTER_CONNS connections that are
 * kept between calls. The body of a reply is handed on in parts and never collected here.
 *
 * Redirects are not followed: a 3xx is a reply like any other, with its location. Nothing is ever
 * sent twice but GET and DELETE, once more, when a connection kept from an earlier call turned out
 * to be closed before a byte of the reply came. No environment variable is read here.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "base/buf.h"
#include "http/https_url.h"
#include "loop/loop.h"

struct tls_roots;
struct client_conn;

/*
 * Before the first call; both are borrowed for good. roots NULL: no connection is ever opened, each
 * call fails with HTTP_CALL_TLS.
 */
void http_client_setup(const struct http_origin *o, const struct tls_roots *roots);

enum http_call_failure {
	HTTP_CALL_OK,      /* a whole reply, whatever its status */
	HTTP_CALL_RESOLVE, /* no address for the host */
	HTTP_CALL_REFUSED, /* nobody listens there */
	HTTP_CALL_CONNECT, /* not reachable for another reason */
	HTTP_CALL_TLS,     /* not verified, or no common TLS */
	HTTP_CALL_TIMEOUT,
	HTTP_CALL_CLOSED,  /* before or inside of the reply */
	HTTP_CALL_INVALID, /* not HTTP as we take it, or over a limit */
	HTTP_CALL_STOPPED, /* part() gave false */
	HTTP_CALL_MEMORY,  /* the memory budget is used up */
	HTTP_CALL_REQUEST, /* never sent: over a limit, or a target that cannot stand in a request
			    */
};

enum { HTTP_CALL_TEXT = 800 };

struct http_call {
	/* Set by the caller, all else zero; borrowed until done() is called or http_call_abort. */
	const char *method;
	struct slice target; /* percent-encoded path below the prefix, "/v1/...", query included */
	struct slice fields; /* further "Name: value\r\n" lines: Authorization, sandbox token */
	struct slice body;   /* JSON; p NULL: none, and no Content-Type */
	int64_t limit_ms;    /* from http_call_start to done(): waiting for a connection counts */
	bool brief;          /* may also use the connections kept for short calls */
	/*
	 * Body bytes, de-chunked, in order; status and the other facts of the head are set. False:
	 * the rest is not wanted (HTTP_CALL_STOPPED, the connection is closed). NULL: the body is
	 * read and dropped. May not abort this call.
	 */
	bool (*part)(struct http_call *c, struct slice bytes);
	/* From the loop, exactly once unless aborted. The call may be started anew in it. */
	void (*done)(struct http_call *c);

	/*
	 * The reply, good in part() and done(). Texts are without the secrets of the request and
	 * cut to fit, empty when absent.
	 */
	int status;    /* 0: there was none */
	char type[64]; /* Content-Type as it came */
	char reason[64], retry_after[32], location[256];
	uint64_t got;     /* bytes of the body so far; 0 at the end: no content */
	int64_t expected; /* Content-Length, -1: not told */

	/* The outcome, good in done(). */
	enum http_call_failure failure;
	bool sent;  /* a byte of the request was written: the master may act on it */
	bool again; /* sent once on a kept connection that was closed, then on a new one (H8) */
	const char *phase;         /* of a timeout: "queue", "connect", "TLS" or "reply" */
	char text[HTTP_CALL_TEXT]; /* the sentence about the failure */

	/* private */
	struct timer limit;
	struct client_conn *conn;
	struct http_call *next;
	int64_t began;
	bool waiting; /* in the queue */
};

/* Every failure comes through done(), too; nothing is called back before this returns. */
void http_call_start(struct http_call *c);
/*
 * The connection is closed at once, nothing is called back any more. Fine also for a zeroed call
 * that was never started, and for one that is done.
 */
void http_call_abort(struct http_call *c);
/*
 * The sentence about c->failure (sandbox-tools.md sections 2 and 5.2), without secrets. Nothing for
 * HTTP_CALL_OK and HTTP_CALL_STOPPED.
 */
void http_call_put_failure(const struct http_call *c, struct buf *b);

/* Connections that are open or being opened. */
unsigned http_client_connections(void);

#endif
