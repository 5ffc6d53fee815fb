/*
 * The MCP endpoint over HTTP: which era a POST is of, its head against its body, JSON or a stream
 * as the answer.
 */
#ifndef FRONT_HTTP_MCP_H
#define FRONT_HTTP_MCP_H

#include "http/server.h"

/* serve of /mcp, behind gate_mcp. */
void http_mcp_serve(struct http_request *r);

#endif
