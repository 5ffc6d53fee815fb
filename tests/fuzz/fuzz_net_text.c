/*
 * SANDSTORM_IP. What is taken can be set up: a prefix of the family's length, a gateway that plain
 * bit arithmetic finds in it; what is refused is refused with words.
 */
#include "fuzz.h"

#include "boot/net_text.h"

static bool bit(const unsigned char *a, int i)
{
	return a[i / 8] >> (7 - i % 8) & 1;
}

static bool in_network(const struct net *n)
{
	int first = address_is_v4(n->address) ? 96 : 0;

	for (int i = 0; i < first + n->bits; i++)
		if (bit(n->address, i) != bit(n->gateway, i))
			return false;
	return true;
}

static bool of_the_link(const unsigned char *a)
{
	return a[0] == 0xfe && bit(a, 8) && !bit(a, 9);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net n;
	const char *wrong = net_parse((struct slice){ (const char *)data, size }, &n);

	if (wrong) {
		MUST(strlen(wrong) > 10);
		return 0;
	}
	MUST(net_given(n.address) && !address_is_loopback(n.address));
	MUST(n.bits >= 1 && n.bits <= (address_is_v4(n.address) ? 32 : 128));
	if (net_given(n.gateway)) {
		MUST(address_is_v4(n.address) == address_is_v4(n.gateway));
		MUST(memcmp(n.address, n.gateway, 16) != 0);
		MUST(in_network(&n) || of_the_link(n.gateway));
	}
	return 0;
}
