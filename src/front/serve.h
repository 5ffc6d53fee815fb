/*
 * The HTTP transport: routes, start, stop.
 */
#ifndef FRONT_SERVE_H
#define FRONT_SERVE_H

#include <netinet/in.h>
#include <stdint.h>

#include "front/health.h"
#include "front/origin.h"

/* One that listens already: descriptor HTTP_GIVEN_FIRST and its place in the array. */
struct serve_socket {
	char host[INET6_ADDRSTRLEN];
	unsigned port;
};

struct serve_config {
	const char *host;
	unsigned port, max_conns;
	const struct serve_socket *socket;
	int sockets; /* 0: listen on host and port */
	int64_t rate_limit;
	bool health_detail, sessions;
	bool tls;            /* tls_server_load has been called */
	unsigned plain_port; /* beside TLS; 0: none */
	struct origin_config origin;
	struct health_config health;
};

/* Listens; the loop then serves. The token is set by auth_set_token. 0 or -errno (-EADDRINUSE,
 * -EINVAL: bad host) with the port in question in *port. */
int serve_start(const struct serve_config *c, unsigned *port) __attribute__((warn_unused_result));
/* Accepts no more, gives what runs or is on its way to us grace_ms to end, then ends it with an
 * error answer, then ends the loop with 0. */
void serve_stop(int64_t grace_ms);

#endif
