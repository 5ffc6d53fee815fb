#include "boot/net_text.h"

#include "base/str.h"

bool net_given(const unsigned char address[16])
{
	static const unsigned char none[16];

	return memcmp(address, none, sizeof(none)) != 0;
}

/* 0.0.0.0 and :: name no machine, 127.0.0.0/8 and ::1 only the machine itself, and what begins with
 * 1110 or ff a group. */
static bool is_unicast(const unsigned char a[16])
{
	if (address_is_v4(a))
		return a[12] != 0 && a[12] != 127 && a[12] < 224;
	return net_given(a) && !address_is_loopback(a) && a[0] != 0xff;
}

static bool parse_unicast(struct slice s, unsigned char out[16])
{
	return address_parse(s, out) && is_unicast(out);
}

static bool same_network(const unsigned char *a, const unsigned char *b, int bits)
{
	int whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, (size_t)whole) == 0 &&
	       (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* A router answers to its address of the link alone (fe80::/10) as well. */
static bool reaches(const struct net *n)
{
	bool v4 = address_is_v4(n->address);

	if (v4 != address_is_v4(n->gateway) || memcmp(n->address, n->gateway, 16) == 0)
		return false;
	if (v4)
		return same_network(n->address + 12, n->gateway + 12, n->bits);
	return (n->gateway[0] == 0xfe && (n->gateway[1] & 0xc0) == 0x80) ||
	       same_network(n->address, n->gateway, n->bits);
}

static bool parse_network(struct slice s, struct net *n)
{
	struct slice length = s, address = str_split(&length, '/');
	int64_t bits;

	if (!parse_unicast(address, n->address) || str_int(length, &bits) < 0)
		return false;
	if (bits < 1 || bits > (address_is_v4(n->address) ? 32 : 128))
		return false;
	n->bits = (int)bits;
	return true;
}

const char *net_parse(struct slice s, struct net *n)
{
	struct slice network = str_split(&s, ','), gateway = str_split(&s, ',');

	*n = (struct net){ 0 };
	if (!parse_network(network, n))
		return "does not begin with an address and the length of its prefix, such as "
		       "192.168.1.5/24";
	if (gateway.n && (!parse_unicast(gateway, n->gateway) || !reaches(n)))
		return "names a gateway that is not another address of that network";
	if (s.n && !address_parse(s, n->dns))
		return "names a DNS server that is no address";
	return NULL;
}
