/*
 * SANDSTORM_IP as text: ADDRESS/LENGTH[,GATEWAY[,DNS]], IPv4 or IPv6. A field may be left empty.
 */
#ifndef BOOT_NET_TEXT_H
#define BOOT_NET_TEXT_H

#include "base/address.h"

/* A field that was not given is all zeros (::, which is no address of a machine). */
struct net {
	unsigned char address[16], gateway[16], dns[16];
	int bits; /* of the family: at most 32 or 128 */
};

/* NULL, or what is wrong, as the end of a sentence. */
const char *net_parse(struct slice s, struct net *n) __attribute__((warn_unused_result));
/* False for ::, also as "not given". */
bool net_given(const unsigned char address[16]);

#endif
