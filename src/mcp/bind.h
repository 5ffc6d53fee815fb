/*
 * Binding the arguments of a call to the row of its tool (decision 3: lossless forms are taken,
 * nothing else is bent).
 */
#ifndef MCP_BIND_H
#define MCP_BIND_H

#include "mcp/tool.h"

/* arguments: token of the object, or -1. False: the first fault found is already the call's answer.
 */
bool bind_arguments(struct job *j, int arguments) __attribute__((warn_unused_result));

#endif
