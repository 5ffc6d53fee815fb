/*
 * Networks as text, and addresses as proxies write them.
 */
#ifndef FRONT_CIDR_H
#define FRONT_CIDR_H

#include "base/address.h"

/* The network of the first `bits` of addr. */
struct cidr {
	unsigned char addr[16];
	int bits;
};

/*
 * An address as proxies write it into X-Forwarded-For: also "[v6]", with ":port" behind a v4 or a
 * bracketed v6.
 */
bool address_parse_hop(struct slice s, unsigned char out[16]);

/* "10.0.0.0/8", "fd00::/8", or one address. Bits behind the prefix must be zero. */
bool cidr_parse(struct slice s, struct cidr *c);
bool cidr_has(const struct cidr *c, const unsigned char addr[16]);

#endif
