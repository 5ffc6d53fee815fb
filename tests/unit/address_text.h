/*
 * Addresses as text, for tests.
 */
#ifndef ADDRESS_TEXT_H
#define ADDRESS_TEXT_H

#include "unit.h"

#include "base/address.h"

static inline void assert_address(const unsigned char address[16], const char *text)
{
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	address_put(&b, address);
	assert_same(buf_all(&b), slice_of(text));
}

#endif
