/*
 * `sandstorm-mcp token`: a new token for SANDSTORM_MCP_TOKEN.
 */
#ifndef FRONT_TOKEN_H
#define FRONT_TOKEN_H

#include <stdbool.h>

/*
 * 32 random bytes as 43 characters of base64url and a newline: to standard output, or with path
 * into a new file that only its owner may read. rotate: a file that exists is replaced whole, else
 * it is left as it is. Waits for the kernel's random pool at early boot. 0, or 1 after a complaint.
 */
int token_make(const char *path, bool rotate);

#endif
