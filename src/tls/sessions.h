/*
 * What a server keeps of its sessions, so that clients that come back make a short handshake: of
 * TLS_SESSIONS_MAX those that were used last, for TLS_SESSIONS_MS at most. For tls/ alone: shows
 * BearSSL's types.
 */
#ifndef TLS_SESSIONS_H
#define TLS_SESSIONS_H

#include <bearssl.h>

/* For engines of servers. */
const br_ssl_session_cache_class **sessions_cache(void);
/* One that the engine has just kept. */
void sessions_drop(const br_ssl_engine_context *engine);
/* All of them, now and whenever they become old. */
void sessions_forget(void);

#endif
