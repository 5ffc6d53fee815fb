/*
 * The run of bytes that stand for themselves in a JSON string: ASCII without controls, quote and
 * backslash. Reading and writing strings both live on it, so it looks at eight bytes at a time.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <stdint.h>

#include "base/ascii.h"
#include "base/slice.h"

#define JSON_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes with the first one lowest, whatever the machine's order. */
static inline uint64_t json_word(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/*
 * Nonzero when one of the eight bytes is not plain; the lowest bit set is then the top bit of the
 * first such byte. Each subtraction borrows only out of a byte that is itself a hit, so what lies
 * below the first hit is exact.
 */
static inline uint64_t json_hits(uint64_t w)
{
	uint64_t control = w - JSON_EACH(0x20);
	uint64_t quote = (w ^ JSON_EACH('"')) - JSON_EACH(1);
	uint64_t backslash = (w ^ JSON_EACH('\\')) - JSON_EACH(1);

	return (w | control | quote | backslash) & JSON_EACH(0x80);
}

static inline bool json_has_backslash(const char *eight)
{
	uint64_t w = json_word(eight) ^ JSON_EACH('\\');

	return ((w - JSON_EACH(1)) & ~w & JSON_EACH(0x80)) != 0;
}

/* Which of the eight bytes the lowest hit stands for. */
static inline size_t json_first_hit(uint64_t hits)
{
	return (size_t)__builtin_ctzll(hits) / 8;
}

static inline bool json_plain(char c)
{
	unsigned char b = (unsigned char)c;

	return b >= 0x20 && b < 0x80 && b != '"' && b != '\\';
}

static inline size_t json_plain_run(struct slice s)
{
	size_t i = 0;
	uint64_t hits;

	for (; s.n - i >= 8; i += 8) {
		hits = json_hits(json_word(s.p + i));
		if (hits)
			return i + json_first_hit(hits);
	}
	while (i < s.n && json_plain(s.p[i]))
		i++;
	return i;
}

/* Four hex digits, which json_check has seen. */
static inline uint32_t json_hex4(const char *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 4 | (uint32_t)ascii_hex(p[i]);
	return v;
}

#endif
