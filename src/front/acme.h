/*
 * What a certificate authority asks for to see that a name is ours (RFC 8555 section 8.3): files
 * that an ACME client in webroot mode has put into DIR/.well-known/acme-challenge.
 */
#ifndef FRONT_ACME_H
#define FRONT_ACME_H

#include "http/server.h"

#define ACME_PATH "/.well-known/acme-challenge/"

/* webroot: DIR, borrowed for the life of the program, or NULL: no file is there. 0 or -errno: it is
 * no directory that can be entered. What is in it is looked at with each request. */
int acme_setup(const char *webroot) __attribute__((warn_unused_result));
void acme_serve(struct http_request *r); /* GET of all below ACME_PATH */

#endif
