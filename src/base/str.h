/*
 * Slices: numbers, UTF-8, search. No function here keeps what it is given.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Whole slice as a decimal integer, optional '-'; no blanks, no '+', leading zeros allowed. 0,
 * -EBADMSG or -ERANGE.
 */
int str_int(struct slice s, int64_t *out) __attribute__((warn_unused_result));

/*
 * Whole slice as a JSON-like number (RFC 8259 grammar, exponent included) in thousandths, cut
 * toward zero: "1.5" -> 1500, "3e2" -> 300000. 0, -EBADMSG (not such a number) or -ERANGE (does not
 * fit). *exact, when not NULL, says that nothing was cut off.
 */
int str_milli(struct slice s, int64_t *out, bool *exact) __attribute__((warn_unused_result));

/*
 * UTF-8 (utf8.c).
 * Length of the well-formed UTF-8 sequence at s (1-4), 0 when s is empty,
 * -1 when s starts a sequence that more bytes could complete, -2 when it is invalid (RFC 3629: no
 * surrogates, no overlong forms, nothing above U+10FFFF).
 */
int utf8_seq(struct slice s);
/* The same for the bulk of text: two and three bytes decided here, all else by utf8_seq. */
static inline int utf8_quick(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n >= 3 && (p[1] & 0xc0) == 0x80) {
		if (p[0] >= 0xc2 && p[0] < 0xe0)
			return 2;
		if (p[0] > 0xe0 && p[0] < 0xf0 && p[0] != 0xed && (p[2] & 0xc0) == 0x80)
			return 3;
	}
	return utf8_seq(s);
}
/*
 * How many bytes at s one U+FFFD stands for: the maximal subpart of an ill-formed sequence (Unicode
 * 3.9); >= 1.
 */
size_t utf8_bad(struct slice s);
/* s without a sequence that begins at its end but is not finished there. */
struct slice utf8_whole(struct slice s);
/* How many bytes at the start of s can only belong to a sequence that began before: 3 at most. */
size_t utf8_rest(struct slice s);
/* Appends code point c; U+FFFD for a surrogate or what lies above U+10FFFF. */
void utf8_put(struct buf *b, uint32_t c);
/* s with each ill-formed sequence replaced by U+FFFD; gives the count of replacements. */
size_t utf8_repair(struct buf *b, struct slice s);

bool str_has(struct slice s, char c);
/* Is s made of letters and digits of ASCII and of those marks alone? So is an empty one. */
bool str_only(struct slice s, const char *marks);
bool str_starts(struct slice s, const char *prefix);
/* Where what, which is not empty, stands first in s; NULL when it does not. */
const char *str_find(struct slice s, struct slice what);
/* Equal, where letters of ASCII in either case are the same? */
bool str_same(struct slice a, struct slice b);
/* Without blanks (space, tab, CR, LF) at both ends. */
struct slice str_trim(struct slice s);
struct slice str_trim_start(struct slice s);
struct slice str_trim_end(struct slice s);
/* Cuts off and returns what stands before the first c; *rest becomes what follows it, or empty. */
struct slice str_split(struct slice *rest, char c);
/* Likewise what stands before the first blank; blanks before it are skipped. Empty: no word is
 * left. */
struct slice str_word(struct slice *rest);
/* Is s one of the words of list, which sep stands between? */
bool str_among(struct slice s, const char *list, char sep);
/* s as a C string in mem of size bytes. 0, -ENAMETOOLONG, or -EINVAL when s holds NUL. */
int str_c(struct slice s, char *mem, size_t size) __attribute__((warn_unused_result));
/* n bytes as 2n lower-case hex digits and a NUL. */
void str_hex(const unsigned char *p, size_t n, char *out);
/* The n bytes of exactly 2n hex digits in either case. */
bool str_unhex(struct slice s, unsigned char *out, size_t n);

#endif
