#include "loop/prefer.h"

#include <string.h>
#include <unistd.h>

#include "base/address.h"

/* RFC 6724 section 2.1; link-local addresses are a kind of their own because of their scope. */
static int kind(const unsigned char a[16])
{
	static const struct {
		unsigned char first[4], mask[4];
		int precedence;
	} kinds[] = {
		{ { 0x20, 0x01 }, { 0xff, 0xff, 0xff, 0xff }, 5 }, /* Teredo */
		{ { 0x20, 0x02 }, { 0xff, 0xff }, 30 },            /* 6to4 */
		{ { 0xfc }, { 0xfe }, 3 },                         /* of one site */
		{ { 0xfe, 0x80 }, { 0xff, 0xc0 }, 41 },
	};
	bool is;

	if (address_is_v4(a))
		return 35;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		is = true;
		for (int k = 0; k < 4; k++)
			is = is && (a[k] & kinds[i].mask[k]) == kinds[i].first[k];
		if (is)
			return kinds[i].precedence;
	}
	return 40;
}

/* Connecting a datagram's socket sends nothing but finds the way, and our address on it. */
static int rank(const unsigned char a[16])
{
	union socket_address to, from;
	socklen_t n = address_to_socket(a, 9, &to);
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rank = 0;
	unsigned char source[16];

	if (connect(fd, &to.any, n) == 0 && getsockname(fd, &from.any, &n) == 0) {
		address_from_socket(&from, source);
		rank = kind(a) + (kind(source) == kind(a) ? 100 : 0);
	}
	close(fd);
	return rank;
}

void prefer_sort(unsigned char (*address)[16], int count)
{
	int ranks[16], r, at;
	unsigned char a[16];

	for (int i = 0; i < count && i < 16; i++) {
		memcpy(a, address[i], 16);
		r = rank(a);
		for (at = i; at > 0 && ranks[at - 1] < r; at--) {
			ranks[at] = ranks[at - 1];
			memcpy(address[at], address[at - 1], 16);
		}
		ranks[at] = r;
		memcpy(address[at], a, 16);
	}
}
