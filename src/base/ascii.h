/*
 * Letters and digits of ASCII, whatever the locale. A byte of a longer UTF-8 sequence is neither.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>

static inline bool ascii_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* A letter or a digit. */
static inline bool ascii_alnum(int c)
{
	return ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The value of a hex digit in either case, or -1. */
static inline int ascii_hex(int c)
{
	if (ascii_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
