/*
 * Addresses and networks as text. All are 16 bytes, IPv4 as ::ffff:a.b.c.d.
 */
#ifndef FRONT_CIDR_H
#define FRONT_CIDR_H

#include "base/buf.h"

/* The network of the first `bits` of addr. */
struct cidr {
	unsigned char addr[16];
	int bits;
};

/* A numeric address, IPv6 without brackets and without a zone. */
bool address_parse(struct slice s, unsigned char out[16]);
/*
 * An address as proxies write it into X-Forwarded-For: also "[v6]", with ":port" behind a v4 or a
 * bracketed v6.
 */
bool address_parse_hop(struct slice s, unsigned char out[16]);
bool address_is_loopback(const unsigned char addr[16]);

/* "10.0.0.0/8", "fd00::/8", or one address. Bits behind the prefix must be zero. */
bool cidr_parse(struct slice s, struct cidr *c);
bool cidr_has(const struct cidr *c, const unsigned char addr[16]);
/* Dotted for IPv4, else eight groups of hex digits (RFC 4291 section 2.2, not shortened). */
void address_put(struct buf *b, const unsigned char address[16]);

#endif
