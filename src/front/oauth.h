/*
 * OAuth 2.1 authorization server and protected-resource metadata (MCP authorization, RFC 8414,
 * 9728, 7591, 7636, 9207, 8707): routes of `serve`.
 */
#ifndef FRONT_OAUTH_H
#define FRONT_OAUTH_H

#include "http/server.h"

void oauth_serve_resource(struct http_request *r);  /* GET: this server as a protected resource */
void oauth_serve_server(struct http_request *r);    /* GET: this server as authorization server */
void oauth_serve_register(struct http_request *r);  /* POST JSON */
void oauth_serve_authorize(struct http_request *r); /* GET: the page; POST: its form */
void oauth_serve_token(struct http_request *r);     /* POST form or JSON */

#endif
