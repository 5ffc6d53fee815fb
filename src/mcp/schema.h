/*
 * JSON Schema of a tool, from its row. Only keywords that mean the same in draft-07 and 2020-12.
 */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include "mcp/tool.h"

void schema_put_input(struct jw *w, const struct tool *t);  /* "inputSchema" */
void schema_put_output(struct jw *w, const struct tool *t); /* "outputSchema", or nothing */

#endif
