/*
 * Whatever surrounds it and wherever the text is cut, no byte of a password is shown; and nothing
 * is hidden but what stands between "://" and "@" in one word.
 */
#include "fuzz.h"

#include "base/url_secret.h"
#include "bounds.h"

enum { TEXT_MAX = 64 * 1024 };

/* Bytes of a text that must not be shown. */
struct hidden {
	const char *p;
	size_t n;
};

static bool overlap(struct slice s, struct hidden h)
{
	return s.p < h.p + h.n && h.p < s.p + s.n;
}

/* Shown parts and secrets, one after the other, are the text. */
static void never_shown(struct slice text, unsigned cut, struct hidden h)
{
	const char *at = text.p;
	struct slice shown;
	bool masked;

	while (text.n > 0) {
		shown = url_shown(&text, &cut, &masked);
		MUST(shown.p == at && shown.p + shown.n <= text.p);
		MUST(masked == (shown.p + shown.n < text.p));
		MUST(shown.n == 0 || !overlap(shown, h));
		at = text.p;
	}
}

static bool ends_word(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

/* Without a cut. */
static void only_that(struct slice text)
{
	struct slice secret, rest = text;

	while (rest.n > 0 && url_secret(rest, 0, &secret)) {
		const char *end = secret.p + secret.n;

		MUST(secret.n > 0 && secret.p >= rest.p && end < rest.p + rest.n);
		MUST(secret.p - rest.p >= 3 && memcmp(secret.p - 3, "://", 3) == 0);
		MUST(*end == '@');
		for (const char *p = secret.p; p < end; p++)
			MUST(!ends_word(*p));
		rest = slice_from(rest, (size_t)(end - rest.p));
	}
}

/* Bytes of the input that cannot end what they are put into. */
static void put_plain(struct buf *b, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ends_word(s.p[i]) && !strchr("/?#@", s.p[i]))
			buf_putc(b, s.p[i]);
}

/* before https://user:password@host/after, the parts cut from the input by its first bytes. */
static void with_password(const uint8_t *data, size_t size)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);
	struct slice rest = { (const char *)data + 4, size - 4 }, part[4];
	struct hidden h;
	size_t cut;

	for (int i = 0; i < 4; i++) {
		part[i] = slice_head(rest, data[i]);
		rest = slice_from(rest, part[i].n);
	}
	buf_slice(b, part[0]);
	buf_puts(b, size % 2 ? " https://" : "'ssh://");
	put_plain(b, part[1]);
	buf_putc(b, ':');
	h.p = b->p + b->len;
	put_plain(b, part[2]);
	h.n = (size_t)(b->p + b->len - h.p);
	buf_putc(b, '@');
	put_plain(b, part[3]);
	buf_putc(b, '/');
	buf_slice(b, rest);
	never_shown(buf_all(b), 0, h);
	cut = b->len * data[0] / 256;
	never_shown(slice_head(buf_all(b), cut), CUT_END, h);
	never_shown(slice_from(buf_all(b), cut), CUT_START, h);
	never_shown(buf_all(b), CUT_START | CUT_END, h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > TEXT_MAX)
		return 0;
	only_that((struct slice){ (const char *)data, size });
	if (size > 4)
		with_password(data, size);
	return 0;
}
