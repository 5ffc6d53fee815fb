/*
 * The exchange of `sandstorm-mcp health` with a server that speaks https.
 */
#ifndef FRONT_PROBE_TLS_H
#define FRONT_PROBE_TLS_H

#include <stdint.h>

#include "base/buf.h"
#include "tls/cert.h"

/*
 * Sends request through fd, which is connected and closed afterwards, to the server that has pin's
 * key, and reads up to the end, or until answer is full. 0 or -errno; -ETIMEDOUT after limit_ms;
 * -EKEYREJECTED: the server has another key; -EPROTO: all else that TLS may find wrong.
 */
int probe_tls(int fd, const struct cert *pin, struct slice request, struct buf *answer,
	int64_t limit_ms) __attribute__((warn_unused_result));

#endif
