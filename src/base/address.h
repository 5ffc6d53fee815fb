/*
 * IP addresses: as text, as 16 bytes (IPv4 as ::ffff:a.b.c.d), as the kernel wants them.
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"

/* A numeric address, IPv6 without brackets and without a zone. */
bool address_parse(struct slice s, unsigned char out[16]);
/* Dotted for IPv4, else eight groups of hex digits (RFC 4291 section 2.2, not shortened). */
void address_put(struct buf *b, const unsigned char address[16]);
bool address_is_v4(const unsigned char address[16]);
bool address_is_loopback(const unsigned char address[16]); /* 127.0.0.0/8 or ::1 */

union socket_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Gives the length of what *to became. */
socklen_t address_to_socket(
	const unsigned char address[16], unsigned port, union socket_address *to);
void address_from_v4(const unsigned char v4[4], unsigned char address[16]);
void address_from_socket(const union socket_address *from, unsigned char address[16]);
/* Where a TCP socket is bound to. 0, -errno, or -EAFNOSUPPORT when it has no such address. */
int address_of_socket(int fd, unsigned char address[16], unsigned *port)
	__attribute__((warn_unused_result));

#endif
