/*
 * What engines of clients and servers have in common. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_ENGINE_H
#define TLS_ENGINE_H

#include <bearssl.h>

#include "base/buf.h"

enum {
	/* a whole record comes in, as peers need not heed a wish for shorter ones; what goes out is
	 * mostly one small message */
	ENGINE_IN = BR_SSL_BUFSIZE_INPUT,
	ENGINE_OUT = 4096 + 85,
};

/* TLS 1.2, suites in this machine's order, hashes, curves; e is zeroed. */
void engine_setup(br_ssl_engine_context *e);
/* Has this machine instructions for AES? */
bool engine_is_quick_at_aes(void);
/*
 * The next ENGINE_OUT + ENGINE_IN bytes of mem, for which there is room, become the buffers of e.
 * They are not zeroed: what is never used stays untouched.
 */
void engine_set_buffers(br_ssl_engine_context *e, struct buf *mem);

#endif
