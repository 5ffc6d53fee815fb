/*
 * The first line is a secret, the rest a text that may hold it. What comes out never does, and
 * holds no string of a member named token; without secrets and such members it is the text itself.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "http/mask.h"

enum { TEXT_MAX = 8 * KIB };

static bool has(struct slice text, struct slice what)
{
	return what.n && text.n && memmem(text.p, text.n, what.p, what.n);
}

static bool lower_has(struct slice text, const char *word)
{
	size_t n = strlen(word), k;

	for (; text.n >= n; text = slice_from(text, 1)) {
		for (k = 0; k < n && (text.p[k] | 0x20) == word[k]; k++)
			;
		if (k == n)
			return true;
	}
	return false;
}

/* A secret as a client has it: printable, without blanks, and no part of what we put ourselves. */
static bool good_secret(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
			return false;
	return s.n > 3 && s.n < 200 && !str_has(s, '*');
}

static struct mask mask_of(struct slice secret)
{
	static char mem[300];
	struct mask m = { .n = 0 };
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "Authorization: Bearer %.*s\r\n", SLICE(secret));
	mask_from(&m, buf_all(&b));
	MUST(m.n == 1 && slice_eq(m.secret[0], secret));
	return m;
}

static void without_secrets(struct slice text)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);
	struct mask none = { .n = 0 };

	mask_put_body(&none, b, text);
	MUST(!b->failed);
	if (!lower_has(text, "token"))
		MUST(slice_eq(buf_all(b), text));
}

static void plain_and_short(struct slice quoted, size_t n)
{
	MUST(quoted.n >= 2 && quoted.n <= 4 * n + 2 && quoted.p[0] == '"');
	for (size_t i = 0; i < quoted.n; i++)
		MUST(quoted.p[i] >= ' ' && quoted.p[i] < 0x7f);
}

/* What the quoted text stands for, into b. */
static void unquote(struct buf *b, struct slice quoted)
{
	struct slice s = { quoted.p + 1, quoted.n - 2 };

	while (s.n) {
		bool escape = s.p[0] == '\\';
		size_t n = escape ? 2 : 1;
		unsigned char c = (unsigned char)s.p[n - 1];

		if (escape && c == 'x') {
			MUST(str_unhex(slice_head(slice_from(s, n), 2), &c, 1));
			n += 2;
		}
		buf_putc(b, (char)c);
		s = slice_from(s, n);
	}
}

/* Members named token in front of any text: their strings are gone, what follows is as alone. */
static void members(struct slice text)
{
	static const char masked[] = "{\"tokens\" : [ \"***\" ,\"***\"] ,\"a_Token\":\"***\"}";
	static struct buf mem[3];
	struct buf *in = fuzz_buf(&mem[0], MIB), *out = fuzz_buf(&mem[1], MIB);
	struct buf *alone = fuzz_buf(&mem[2], MIB);
	struct mask none = { .n = 0 };

	buf_puts(in, "{\"tokens\" : [ \"q\" ,\"q\\\"q\"] ,\"a_Token\":\"q, \\\\\"}");
	buf_slice(in, text);
	mask_put_body(&none, out, buf_all(in));
	mask_put_body(&none, alone, text);
	MUST(!out->failed && str_starts(buf_all(out), masked));
	MUST(slice_eq(slice_from(buf_all(out), sizeof(masked) - 1), buf_all(alone)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buf mem[2];
	struct slice text = { (const char *)data, size }, secret = str_split(&text, '\n');
	struct buf *b, *plain;
	struct mask m;

	if (size > TEXT_MAX)
		return 0;
	without_secrets(text);
	members(text);
	if (!good_secret(secret))
		return 0;
	m = mask_of(secret);
	b = fuzz_buf(&mem[0], MIB);
	mask_put_body(&m, b, text);
	MUST(!b->failed && b->len <= 3 * text.n + 64 && !has(buf_all(b), secret));
	buf_cut(b, 0);
	mask_put_head(&m, b, text);
	MUST(!b->failed && !has(buf_all(b), secret));
	buf_cut(b, 0);
	mask_put_quoted(&m, b, text, 80);
	plain_and_short(buf_all(b), 80);
	/* a part of an escape may make up for one of the secret; in what it stands for none can */
	plain = fuzz_buf(&mem[1], KIB);
	unquote(plain, buf_all(b));
	MUST(!plain->failed && !has(buf_all(plain), secret));
	return 0;
}
