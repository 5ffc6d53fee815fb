/*
 * HTTP server over the loop: connections, deadlines, routes. Knows nothing of MCP.
 *
 * One request at a time on a connection (decision 35): while it is answered nothing more is read,
 * only the peer's going away is watched. A route's gate sees the head, before a body is waited for;
 * its serve function sees the whole request and either answers or takes the connection over with
 * http_wait and answers later.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/buf.h"
#include "http/head.h"

struct http_conn;

/* Good during gate and serve only. */
struct http_request {
	struct http_conn *conn;
	struct http_head *head;
	struct slice body;  /* empty in a gate */
	struct buf *upload; /* holds the body when it came in large */
};

/* The body into `to`, an empty buf of REQUEST_MAX. A large one is not copied: the bufs change
 * places. */
void http_take_body(struct http_request *r, struct buf *to);

struct http_route {
	const char *path; /* compared by http_path_is; ends with "/": all below it; empty: all
			     that is left; NULL ends the table */
	unsigned methods; /* bits 1 << HTTP_GET ...; GET brings HEAD with it */
	bool (*gate)(struct http_request *r); /* false: has answered; NULL: everybody may */
	void (*serve)(struct http_request *r);
	size_t body_max; /* 0: HTTP_SMALL_BODY, so that who shows no credential never takes one of
			    the few buffers for large bodies */
};

/* What a connection that waits for its answer tells whoever took it over. */
struct http_waiter {
	/*
	 * The peer is gone (closed) or will send no more (half closed). Gives whether the answer is
	 * still wanted; if not, or if closed, the connection is not to be used again after this.
	 */
	bool (*gone)(struct http_conn *c, bool closed);
	/* The bytes given to http_send are not needed any more: sent, or given up. Called once for
	 * each http_send. */
	void (*sent)(struct http_conn *c);
	/* QUIET_MS have passed without a byte to the client. */
	void (*quiet)(struct http_conn *c);
};

struct http_server {
	const struct http_route *routes;
	/* Extra fields ("Name: value\r\n"...) for every answer, or nothing; called with the head or
	 * with NULL. */
	void (*fields)(const struct http_head *h, struct buf *b);
	unsigned max_conns;
	bool tls; /* with what tls_server_load has loaded; of all connections but plain ones */
	const struct http_route *plain_routes; /* of those that came by http_listen_plain */
};

/* The server is borrowed for the life of the program. 0 or -ENOMEM. */
int http_init(const struct http_server *s) __attribute__((warn_unused_result));
/* host: a numeric address, "[v6]", or "localhost" for both loopbacks. 0 or -errno; -EINVAL: not
 * such a host. */
int http_listen(const char *host, unsigned port) __attribute__((warn_unused_result));
/* Beside TLS: connections are plain and see plain_routes alone. */
int http_listen_plain(const char *host, unsigned port) __attribute__((warn_unused_result));
enum { HTTP_GIVEN_FIRST = 3 }; /* of the descriptors that we were started with */
/* A socket that listens already. 0 or -errno. */
int http_listen_given(int fd, bool plain) __attribute__((warn_unused_result));
/* No new connections. What comes over those there are is still answered, the last answer says so.
 */
void http_stop_accepting(void);
/* Closes those on which no request has begun. */
void http_close_idle(void);
/* Are there requests on their way to us: begun, or a handshake is? */
bool http_expects(void);
/* Closes all connections without a running request, the others after their answer. */
void http_stop(void);
unsigned http_conn_count(void);

/* --- answering, during gate and serve or later by whoever waits --- */

/* A whole answer. fields: further "Name: value\r\n" lines, at most HTTP_ANSWER_FIELDS bytes.
 * Everything is copied or sent at once. */
void http_answer(
	struct http_conn *c, int status, const char *type, struct slice fields, struct slice body);

/* serve: this request is answered later. */
void http_wait(struct http_conn *c, const struct http_waiter *w, void *user);
void *http_user(const struct http_conn *c);

enum { HTTP_PARTS_MAX = 8 };
/*
 * Sends parts as they are, which stay untouched until waiter->sent(); the answer is then complete.
 * A head for them is made with http_put_head.
 */
void http_send(struct http_conn *c, const struct slice *parts, int n);
/* Status line and fields. length < 0: none given, the body is chunked (1.1) or ends with the
 * connection (1.0). */
void http_put_head(struct http_conn *c, struct buf *b, int status, const char *type,
	struct slice fields, int64_t length);

/*
 * Answers of unknown length: the first call sends the head, too (status 200). message is copied.
 * False: nothing was sent, since the client has not taken what was sent before.
 */
bool http_stream(struct http_conn *c, const char *type, struct slice fields, struct slice message);
/* Ends the answer with parts, at most HTTP_PARTS_MAX - 1; as http_send. */
void http_stream_end(struct http_conn *c, const char *type, struct slice fields,
	const struct slice *parts, int n);
bool http_streaming(const struct http_conn *c);

/* The peer has shown a credential: in a crowd its connection is given up after those of strangers.
 */
void http_trust(struct http_conn *c);

/* Facts of the connection. */
/* The peer's address: 16 bytes, IPv4 as ::ffff:a.b.c.d. */
const unsigned char *http_peer(const struct http_conn *c);

#endif
