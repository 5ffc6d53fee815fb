/*
 * Who we are, in one place. The library versions are those of vendor/manifest (a test compares
 * them).
 */
#ifndef VERSION_H
#define VERSION_H

#define SERVER_NAME "sandstorm"
#define SERVER_TITLE "Sandstorm MCP"
#define SERVER_VERSION "0.3.0"
#define SERVER_LIBRARIES "BearSSL 0.6, musl 1.2.5 static"

#endif
