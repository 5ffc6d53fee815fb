/*
 * What engines of clients and servers have in common. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_ENGINE_H
#define TLS_ENGINE_H

#include <bearssl.h>

#include "base/buf.h"

/* Has this machine instructions for AES? */
bool engine_is_quick_at_aes(void);
/*
 * What a connection has while it lives, in mem (zeroed at first, or reset): state_size zeroed bytes
 * that begin with a br_ssl_engine_context, and behind them the engine's buffers. The engine is set
 * up for TLS 1.2 with suites in this machine's order, hashes and curves. NULL: no memory.
 */
void *engine_open(struct buf *mem, size_t state_size);

#endif
