/*
 * The plain port beside TLS: challenges of certificate authorities, which never come by TLS, and
 * the way to https for all else.
 */
#ifndef FRONT_PLAIN_H
#define FRONT_PLAIN_H

#include "http/server.h"

extern const struct http_route plain_routes[];

#endif
