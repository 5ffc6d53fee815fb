/*
 * What a machine's own files say of names: lines of /etc/hosts and of /etc/resolv.conf.
 */
#ifndef LOOP_NAMES_H
#define LOOP_NAMES_H

#include "base/address.h"
#include "base/buf.h"

enum {
	NAME_SERVERS_MAX = 3, /* as every libc */
	NAME_SEARCH_MAX = 256,
};

struct names_config {
	union socket_address server[NAME_SERVERS_MAX];
	int servers;
	char search[NAME_SEARCH_MAX]; /* domains with blanks between them */
	int64_t ndots;                /* a name with fewer is looked for below those first */
	int64_t attempts, timeout_s;  /* one of them takes timeout_s / attempts */
};

/* As it is when no line changes it. */
void names_config_init(struct names_config *c);
/* A line of /etc/resolv.conf; one that means nothing to us changes nothing. */
void names_config_line(struct names_config *c, struct slice line);
/* After the last line: without a server one is asked on this machine. */
void names_config_end(struct names_config *c);

/* Does this line of /etc/hosts have the name? Then its address. */
bool names_hosts_line(struct slice line, struct slice name, unsigned char address[16]);

#endif
