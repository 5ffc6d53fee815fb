/*
 * Addresses of a name: by /etc/hosts, else by the name servers of /etc/resolv.conf. Blocks: for
 * workers only. Here because libc's resolver is 20 KB, malloc and stdio included.
 */
#ifndef LOOP_LOOKUP_H
#define LOOP_LOOKUP_H

#include "loop/dns.h"
#include "loop/names.h"

/*
 * The order is that to try them in (RFC 6724, in short). 0; -ENOENT no such name, or none with an
 * address; -EAGAIN no name server answers.
 */
int lookup_name(const char *host, struct dns_found *f) __attribute__((warn_unused_result));

/* The second half of it: by these servers, not yet in order. */
int lookup_ask(const struct names_config *c, struct slice name, struct dns_found *f)
	__attribute__((warn_unused_result));

#endif
