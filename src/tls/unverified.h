/*
 * The one kind of connection that verifies nothing, for `sandstorm-mcp ca` alone: it asks for
 * /ca.pem before there is anything to verify with, sends no secret, and what comes is held against
 * a fingerprint. scripts/layers refuses this header everywhere but in front/ca_fetch.c.
 */
#ifndef TLS_UNVERIFIED_H
#define TLS_UNVERIFIED_H

#include "tls/client.h"

/* As tls_client_start, to whoever answers. host is borrowed. */
int tls_unverified_start(struct tls_client *c, int fd, const char *host)
	__attribute__((warn_unused_result));

#endif
