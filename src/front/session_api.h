/*
 * /session/...: the REST interface to sessions (host-tools.md section 7).
 */
#ifndef FRONT_SESSION_API_H
#define FRONT_SESSION_API_H

#include "http/server.h"

/*
 * Whether there are sessions at all: they run commands, so they are served where terminal_exec is.
 * Starts them.
 */
void session_api_setup(bool served, int64_t max_instances);

/* The row of "/session/". */
bool session_api_gate(struct http_request *r);
void session_api_serve(struct http_request *r);

#endif
