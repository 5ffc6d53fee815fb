/*
 * Numbers read as libc or plain arithmetic reads them, UTF-8 is judged as a decoder written from
 * the definition judges it, repaired text is well formed and repaired no further.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "json/json_check.h"

/* A code point decoded by the definition alone, or -1; *n bytes long. */
static int32_t decode(struct slice s, size_t *n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s.p;
	size_t i, len = *p < 0x80       ? 1
			: *p >> 5 == 6  ? 2
			: *p >> 4 == 14 ? 3
			: *p >> 3 == 30 ? 4
					: 0;
	uint32_t c = len == 1 ? *p : *p & (0x7fu >> len);

	if (len == 0 || len > s.n)
		return -1;
	for (i = 1; i < len; i++) {
		if (p[i] >> 6 != 2)
			return -1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return -1;
	*n = len;
	return (int32_t)c;
}

/* Some bytes behind s would make it one sequence. */
static bool could_go_on(struct slice s)
{
	static const char *const rests[] = { "\x80\x80\x80", "\x90\x80\x80", "\xa0\x80\x80" };
	char text[8];
	size_t i, k, n;

	if (s.n > 3)
		return false;
	for (i = 0; i < 3; i++)
		for (k = 1; s.n + k <= 4; k++) {
			memcpy(text, s.p, s.n);
			memcpy(text + s.n, rests[i], k);
			if (decode((struct slice){ text, s.n + k }, &n) >= 0 && n == s.n + k)
				return true;
		}
	return false;
}

static void utf8_as_defined(struct slice s)
{
	size_t n = 1;
	int32_t c;
	int seq;

	for (; s.n > 0; s = slice_from(s, n)) {
		c = decode(s, &n);
		seq = utf8_seq(s);
		MUST(seq == utf8_quick(s));
		MUST((c >= 0) == (seq > 0));
		if (c >= 0) {
			MUST((size_t)seq == n);
			continue;
		}
		n = utf8_bad(s);
		MUST(n >= 1 && n <= 3 && n <= s.n);
		MUST((seq == -1) == could_go_on(s));
	}
}

static void repaired_once(struct slice s)
{
	static struct buf once, twice;
	struct slice rest;

	fuzz_buf(&once, 8 * MIB);
	fuzz_buf(&twice, 8 * MIB);
	if (utf8_repair(&once, s) == 0)
		MUST(slice_eq(s, buf_all(&once)));
	MUST(utf8_repair(&twice, buf_all(&once)) == 0);
	MUST(slice_eq(buf_all(&once), buf_all(&twice)));
	for (rest = buf_all(&once); rest.n > 0; rest = slice_from(rest, (size_t)utf8_seq(rest)))
		MUST(utf8_seq(rest) > 0);
}

static void integer_as_libc(struct slice s)
{
	char text[64], *end;
	int64_t v = 0;
	long long want;
	int r = str_int(s, &v);

	if (str_c(s, text, sizeof(text)) < 0)
		return;
	if (strspn(text, "-0123456789") != s.n || s.n == 0) {
		MUST(r == -EBADMSG);
		return;
	}
	errno = 0;
	want = strtoll(text, &end, 10);
	if (*end != '\0' || end == text)
		MUST(r == -EBADMSG);
	else if (errno == ERANGE)
		MUST(r == -ERANGE);
	else
		MUST(r == 0 && v == want);
}

/* In the checker's eyes s is a number and nothing else. */
static bool is_number(struct slice s)
{
	struct json_check c;

	json_check_init(&c);
	return s.n > 0 && (*s.p == '-' || (*s.p >= '0' && *s.p <= '9')) && s.p[s.n - 1] > ' ' &&
	       json_check_feed(&c, s) == 0 && json_check_end(&c) == 0;
}

/* Thousandths of a number without exponent: its digits with the point moved. */
static void milli_as_digits(struct slice s)
{
	struct buf *b;
	static struct buf mem;
	struct slice rest = s, whole = str_split(&rest, '.');
	int64_t v = 0, want = 0;
	bool exact = false;
	int r = str_milli(s, &v, &exact), wanted;

	MUST((r == -EBADMSG) == !is_number(s));
	if (r == -EBADMSG || str_has(s, 'e') || str_has(s, 'E'))
		return;
	b = fuzz_buf(&mem, MIB);
	buf_slice(b, whole);
	buf_put(b, rest.p, rest.n < 3 ? rest.n : 3);
	buf_printf(b, "%.*s", rest.n < 3 ? (int)(3 - rest.n) : 0, "000");
	wanted = str_int(buf_all(b), &want);
	MUST(r == wanted && v == want);
	for (; rest.n > 3 && rest.p[rest.n - 1] == '0'; rest.n--)
		;
	MUST(r < 0 || exact == (rest.n <= 3));
}

static void parts_join_again(struct slice s)
{
	static struct buf joined;
	struct slice rest = s, part, trimmed = str_trim(s);

	fuzz_buf(&joined, MIB);
	while (rest.n > 0) {
		part = str_split(&rest, ',');
		MUST(!str_has(part, ','));
		buf_slice(&joined, part);
		if (joined.len < s.n)
			buf_putc(&joined, ',');
	}
	MUST(slice_eq(buf_all(&joined), s));
	MUST(trimmed.n <= s.n && slice_eq(str_trim(trimmed), trimmed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size };

	utf8_as_defined(s);
	repaired_once(s);
	integer_as_libc(s);
	milli_as_digits(s);
	parts_join_again(s);
	return 0;
}
