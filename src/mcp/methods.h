/*
 * The methods of the protocol. What they need to know of the program is told once, at start.
 */
#ifndef MCP_METHODS_H
#define MCP_METHODS_H

/* instructions: what a model should know of this server, borrowed for the life of the program;
 * NULL: none. */
void methods_setup(const char *instructions);

#endif
