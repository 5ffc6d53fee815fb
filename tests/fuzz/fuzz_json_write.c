/*
 * A text of any bytes, given whole or in parts of any size, becomes the same JSON string: the one
 * that a plain loop would write, which reads back as the repaired text and fits a buf of exactly
 * its size.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "json/json.h"
#include "json/json_write.h"

/* The writer's promise, byte after byte. */
static size_t plain_write(struct buf *b, struct slice s)
{
	size_t bad = 0;
	int n;

	buf_putc(b, '"');
	for (; s.n > 0; s = slice_from(s, n > 0 ? (size_t)n : utf8_bad(s))) {
		n = utf8_seq(s);
		bad += n < 0;
		if (n < 0)
			utf8_put(b, 0xfffd);
		else if (*s.p == '"' || *s.p == '\\')
			buf_printf(b, "\\%c", *s.p);
		else if ((unsigned char)*s.p >= 0x20)
			buf_put(b, s.p, (size_t)n);
		else if (strchr("\b\f\n\r\t", *s.p) && *s.p)
			buf_printf(b, "\\%c", "btn.fr"[*s.p - 8]);
		else
			buf_printf(b, "\\u%04x", (unsigned)*s.p);
	}
	buf_putc(b, '"');
	return bad;
}

/* In parts whose sizes come from `seed`; parts of nothing are among them. */
static void write_parts(struct jw *w, struct slice s, unsigned seed)
{
	size_t n;

	jw_text_open(w, NULL);
	while (s.n > 0) {
		seed = seed * 1103515245 + 12345;
		n = (seed >> 16) % 13;
		n = n < s.n ? n : s.n;
		jw_text(w, (struct slice){ s.p, n });
		s = slice_from(s, n);
	}
	jw_text_close(w);
}

static void fits_exactly(struct slice s, struct slice want)
{
	struct buf small;
	struct jw w;
	char *mem = malloc(want.n);

	buf_over(&small, mem, want.n);
	jw_init(&w, &small);
	jw_str(&w, NULL, s);
	MUST(!small.failed && slice_eq(buf_all(&small), want));
	buf_over(&small, mem, want.n - 1);
	jw_init(&w, &small);
	jw_str(&w, NULL, s);
	MUST(small.failed && small.len < want.n);
	free(mem);
}

static void reads_back(struct buf *string, struct slice s, size_t bad)
{
	static struct buf mem, want;
	struct slice got;
	struct json d;

	fuzz_buf(&mem, MIB);
	fuzz_buf(&want, 8 * MIB);
	MUST(utf8_repair(&want, s) == bad);
	MUST(json_parse(&d, string->p, string->len, &mem) == 0 && d.n == 1);
	MUST(json_str(&d, 0, &got) == 0);
	MUST(slice_eq(got, buf_all(&want)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buf want, out;
	struct slice s = { (const char *)data, size };
	unsigned seed = size > 0 ? data[0] : 0;
	struct jw w;
	size_t bad;

	fuzz_buf(&want, 8 * MIB);
	fuzz_buf(&out, 8 * MIB);
	bad = plain_write(&want, s);
	jw_init(&w, &out);
	jw_str(&w, NULL, s);
	MUST(w.repaired == bad && slice_eq(buf_all(&out), buf_all(&want)));
	buf_cut(&out, 0);
	jw_init(&w, &out);
	write_parts(&w, s, seed);
	MUST(w.repaired == bad && slice_eq(buf_all(&out), buf_all(&want)));
	fits_exactly(s, buf_all(&want));
	reads_back(&out, s, bad);
	return 0;
}
