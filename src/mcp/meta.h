/*
 * The _meta member of requests and results: which era a message belongs to, what a modern one must
 * carry.
 */
#ifndef MCP_META_H
#define MCP_META_H

#include "mcp/job.h"

/*
 * Reads params._meta: progress token, era. A modern message that lacks what its revision asks for
 * is answered here with an error, and false given.
 */
bool meta_take(struct job *j, struct slice method) __attribute__((warn_unused_result));

/* Opens "_meta" of a result and puts the server's name into it; the caller closes it. */
void meta_open(struct job *j);

#endif
