/*
 * `sandstorm-mcp token`: a new token for SANDSTORM_MCP_TOKEN.
 */
#ifndef FRONT_TOKEN_H
#define FRONT_TOKEN_H

/*
 * 32 random bytes as 43 characters of base64url and a newline: to standard output, or with path
 * into a new file that only its owner may read. Waits for the kernel's random pool at early boot.
 * 0, or 1 after a complaint; a file that exists is left as it is.
 */
int token_make(const char *path);

#endif
