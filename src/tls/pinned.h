/*
 * Connections to the one server that has the key of a certificate at hand, under whatever name:
 * `sandstorm-mcp health` asks the server of its own configuration.
 */
#ifndef TLS_PINNED_H
#define TLS_PINNED_H

#include "tls/client.h"

/* As tls_client_start. pin, whose key is RSA or EC, and its bytes stay until the end. */
int tls_pinned_start(struct tls_client *c, int fd, const struct cert *pin)
	__attribute__((warn_unused_result));
/* Is the stream TLS_FAILED because the server has another key? */
bool tls_pinned_is_other(const struct tls_client *c);

#endif
