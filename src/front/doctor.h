/*
 * `sandstorm-mcp doctor`: what stands between this machine and an answer of the master, one line a
 * check, with what to do about it.
 */
#ifndef FRONT_DOCTOR_H
#define FRONT_DOCTOR_H

#include "http/client.h"
#include "tls/roots.h"

struct doctor_config {
	const struct http_origin *origin;
	const struct tls_roots *roots; /* NULL: none */
	struct slice token;            /* empty: none */
	int64_t limit_ms;              /* of one call */
	bool probe;                    /* also try each route that only reads */
};

/*
 * Blocks until all is told on standard output; http_client_setup was called. 0, or 1 when a check
 * failed.
 */
int doctor_run(const struct doctor_config *c);

#endif
