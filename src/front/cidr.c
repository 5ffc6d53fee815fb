#include "front/cidr.h"

#include "base/str.h"

enum { V4_PREFIX = 96 }; /* bits before an IPv4 address */

bool address_parse_hop(struct slice s, unsigned char out[16])
{
	struct slice rest = s, host;

	if (str_starts(s, "[")) {
		rest = slice_from(rest, 1);
		host = str_split(&rest, ']');
		if (!str_has(host, ':') || host.p + host.n == rest.p)
			return false; /* no address of IPv6, or no bracket at its end */
		return (!rest.n || rest.p[0] == ':') && address_parse(host, out);
	}
	host = str_split(&rest, ':');
	return address_parse(str_has(rest, ':') ? s : host, out);
}

/* Clears what lies behind the prefix. */
static void prefix_of(const unsigned char addr[16], int bits, unsigned char out[16])
{
	memset(out, 0, 16);
	memcpy(out, addr, (size_t)bits / 8);
	if (bits % 8)
		out[bits / 8] = (unsigned char)(addr[bits / 8] & 0xff << (8 - bits % 8));
}

bool cidr_parse(struct slice s, struct cidr *c)
{
	struct slice bits = s, addr = str_split(&bits, '/');
	int first = str_has(addr, ':') ? 0 : V4_PREFIX;
	unsigned char prefix[16];
	int64_t n = 128 - first;

	if (!address_parse(addr, c->addr))
		return false;
	if (addr.n < s.n && (str_int(bits, &n) < 0 || n < 0 || n > 128 - first))
		return false;
	c->bits = first + (int)n;
	prefix_of(c->addr, c->bits, prefix);
	return memcmp(prefix, c->addr, 16) == 0;
}

bool cidr_has(const struct cidr *c, const unsigned char addr[16])
{
	unsigned char prefix[16];

	prefix_of(addr, c->bits, prefix);
	return memcmp(prefix, c->addr, 16) == 0;
}
