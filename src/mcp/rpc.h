/*
 * JSON-RPC 2.0: one text in, one answer out. Knows no transport.
 *
 * Codes are those of JSON-RPC and of MCP (mcp.md section 7 of the design: -32020 to -32022).
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include "mcp/job.h"

enum {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_HEADER = -32020,
	RPC_VERSION = -32022,
};

/* How mcp/methods is called, so that this layer does not know it. */
struct rpc_methods {
	/* Runs method and answers; anything but notifications. */
	enum step (*request)(struct job *j, struct slice method);
	/* Never answers. */
	void (*notification)(struct job *j, struct slice method);
};

void rpc_setup(const struct rpc_methods *m);

/* Serves the text in j->text; ends with sink->reply, at once or later. */
void rpc_start(struct job *j);
/* The text was over REQUEST_MAX, or found no memory, and is not there: answers so. */
void rpc_too_long(struct job *j);

/* The answer is an error with the message's id (null when it has none). Takes back what was begun.
 */
enum step rpc_error(struct job *j, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* -32022 with the list of revisions. */
enum step rpc_bad_version(struct job *j, struct slice requested);

/* An answer in parts: between the two, members of `result` are written with j->w. */
void rpc_result_begin(struct job *j);
enum step rpc_result_end(struct job *j);   /* in the modern era with _meta.serverInfo */
enum step rpc_result_close(struct job *j); /* the same for a caller that has written _meta itself */

#endif
