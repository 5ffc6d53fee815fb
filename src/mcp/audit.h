/*
 * One log line for each call of a tool: which, how it went, how long it took, how much it answered.
 * Never arguments.
 */
#ifndef MCP_AUDIT_H
#define MCP_AUDIT_H

#include "mcp/job.h"

/* To be called when the message's answer stands complete in out (or is known not to be wanted). */
void audit_call(const struct job *j);

#endif
