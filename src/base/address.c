#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>

#include "base/str.h"

static const unsigned char v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool address_parse(struct slice s, unsigned char out[16])
{
	char text[INET6_ADDRSTRLEN];

	memset(out, 0, 16);
	if (str_c(s, text, sizeof(text)) < 0)
		return false;
	if (str_has(s, ':'))
		return inet_pton(AF_INET6, text, out) == 1;
	memcpy(out, v4_prefix, sizeof(v4_prefix));
	return inet_pton(AF_INET, text, out + 12) == 1;
}

bool address_is_v4(const unsigned char address[16])
{
	return memcmp(address, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool address_is_loopback(const unsigned char address[16])
{
	static const unsigned char v6[16] = { [15] = 1 };

	return address_is_v4(address) ? address[12] == 127 : memcmp(address, v6, 16) == 0;
}

void address_put(struct buf *b, const unsigned char address[16])
{
	const unsigned char *p = address;

	if (address_is_v4(address)) {
		buf_printf(b, "%u.%u.%u.%u", p[12], p[13], p[14], p[15]);
		return;
	}
	for (int i = 0; i < 16; i += 2)
		buf_printf(b, "%s%x", i ? ":" : "", (unsigned)(p[i] << 8 | p[i + 1]));
}

socklen_t address_to_socket(
	const unsigned char address[16], unsigned port, union socket_address *to)
{
	memset(to, 0, sizeof(*to));
	if (address_is_v4(address)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons((uint16_t)port);
		memcpy(&to->v4.sin_addr, address + 12, 4);
		return sizeof(to->v4);
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons((uint16_t)port);
	memcpy(&to->v6.sin6_addr, address, 16);
	return sizeof(to->v6);
}

void address_from_v4(const unsigned char v4[4], unsigned char address[16])
{
	memcpy(address, v4_prefix, sizeof(v4_prefix));
	memcpy(address + 12, v4, 4);
}

void address_from_socket(const union socket_address *from, unsigned char address[16])
{
	if (from->any.sa_family == AF_INET6)
		memcpy(address, &from->v6.sin6_addr, 16);
	else
		address_from_v4((const unsigned char *)&from->v4.sin_addr, address);
}

int address_of_socket(int fd, unsigned char address[16], unsigned *port)
{
	union socket_address a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return -errno;
	if (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	address_from_socket(&a, address);
	*port = ntohs(a.v4.sin_port); /* that of IPv6 stands at the same place */
	return 0;
}
