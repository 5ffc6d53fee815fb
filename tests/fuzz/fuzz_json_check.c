/*
 * The checker says the same of a text however it is cut, refuses for good, and passes only what the
 * tokenizer then takes with as many tokens as were counted.
 */
#include "fuzz.h"

#include <errno.h>

#include "bounds.h"
#include "json/json.h"
#include "json/json_check.h"

static int feed(struct json_check *c, struct slice s, size_t piece)
{
	struct slice part;
	int r = 0;

	json_check_init(c);
	while (s.n > 0 && r == 0) {
		part = (struct slice){ s.p, s.n < piece ? s.n : piece };
		r = json_check_feed(c, part);
		s = slice_from(s, part.n);
	}
	return r;
}

static void same_when_cut(struct slice s, const struct json_check *whole, int fed, int ended)
{
	struct json_check c;
	size_t piece;

	for (piece = 1; piece <= 17; piece += 4) {
		MUST(feed(&c, s, piece) == fed);
		MUST(json_check_end(&c) == ended);
		MUST(c.offset == whole->offset);
		MUST(c.tokens == whole->tokens);
	}
}

static void tokenizer_agrees(struct slice s, const struct json_check *c, int checked)
{
	static struct buf text, mem;
	struct json d;
	int r;

	fuzz_buf(&text, MIB);
	fuzz_buf(&mem, 8 * MIB);
	buf_slice(&text, s);
	r = json_parse(&d, text.p, text.len, &mem);
	if (checked < 0)
		MUST(r == checked);
	else if (c->tokens > JSON_TOKENS_MAX)
		MUST(r == -E2BIG);
	else
		MUST(r == 0 && d.n == (int)c->tokens);
	MUST(slice_eq(s, buf_all(&text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size };
	struct json_check c, after;
	int fed = feed(&c, s, size), ended = json_check_end(&c);

	MUST(fed == 0 || ended == fed);
	MUST(c.offset <= size && (fed == 0) == (c.offset == size));
	MUST(c.depth >= 0 && c.depth <= JSON_DEPTH_MAX);
	same_when_cut(s, &c, fed, ended);
	tokenizer_agrees(s, &c, ended);
	if (ended < 0) {
		after = c;
		MUST(json_check_feed(&after, LIT("1")) == ended);
		MUST(after.offset == c.offset);
	}
	return 0;
}
