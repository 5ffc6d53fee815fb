/*
 * What every request to /mcp must pass before its body is waited for: host, origin, credential,
 * rate.
 */
#ifndef FRONT_GATE_H
#define FRONT_GATE_H

#include "http/server.h"

/* The gate of /mcp. Preflights are answered here, without a credential. False: answered. */
bool gate_mcp(struct http_request *r);
/*
 * The gate of /session/: as that of /mcp, but the credential is SESSION_AUTH_TOKEN where there is
 * one, and no other; else the MCP token, without which the API is as if it were not there.
 */
bool gate_session(struct http_request *r);
/* Gates of what needs no credential: host and preflights; the second counts the request, too. */
bool gate_open(struct http_request *r);
bool gate_counted(struct http_request *r);
/* Is the MCP token there and right? For /health, which tells more then. */
bool gate_has_token(const struct http_request *r);

/* Does the request say that its body is application/json? Parameters are allowed. */
bool gate_is_json(const struct http_head *h);
/* CORS fields for any answer; the server's `fields`. */
void gate_fields(const struct http_head *h, struct buf *b);
/* The address of the client, seen through trusted proxies. */
void gate_put_peer(const struct http_request *r, struct buf *b);
/* A line about what was refused, and to whom; of many in one second only the first. */
void gate_log_refusal(const struct http_request *r, int status, const char *why);
/* An answer outside of JSON-RPC, with the CORS fields and more ("Name: value\r\n"...). */
void gate_answer(
	struct http_request *r, int status, const char *type, struct slice more, struct slice body);
/* Such a one that says {"error":"text"}, and a line in the log. */
void gate_refuse(struct http_request *r, int status, struct slice more, const char *text);

#endif
