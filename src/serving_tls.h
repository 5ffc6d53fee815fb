/*
 * The certificate that `serve` speaks TLS with: read at start, again at HUP.
 */
#ifndef SERVING_TLS_H
#define SERVING_TLS_H

#include <stdbool.h>

#include "config.h"

/* Is one configured? */
bool serving_tls(const struct config *c);
/* 0, or 2 after a complaint. c is borrowed for serving_tls_reread. */
int serving_tls_load(const struct config *c) __attribute__((warn_unused_result));
/* What is in use, and what is to be known of it, into the log. */
void serving_tls_tell(void);
/* Files that cannot be used change nothing; both outcomes are logged. */
void serving_tls_reread(void);
/* How many TLS connections there is memory for, of a budget in bytes. */
unsigned serving_tls_room(size_t budget);

#endif
