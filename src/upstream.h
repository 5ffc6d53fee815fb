/*
 * The master, as the configuration names it: SANDSTORM_URL, _CA, _TOKEN, _ROUTES, _TRACE and the
 * timeouts. For the sandbox tools and for doctor.
 */
#ifndef UPSTREAM_H
#define UPSTREAM_H

#include "config.h"

struct http_origin;
struct tls_roots;

/* Takes the token out of the environment, before env_scrub; complains of nothing yet. */
void upstream_take_token(void);
/*
 * Checks all of it and makes http/client and proxy/ ready to call; opens no connection. 0, or 2
 * after the complaint was printed. Needs upstream_take_token before.
 */
int upstream_load(const struct config *c) __attribute__((warn_unused_result));

/* Good after upstream_load, for the life of the program. */
const struct http_origin *upstream_origin(void);
const struct tls_roots *upstream_roots(void); /* of SANDSTORM_CA, else compiled in, else NULL */
struct slice upstream_token(void);            /* empty: none is configured */

#endif
