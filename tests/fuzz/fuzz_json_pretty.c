/*
 * Whatever well-formed JSON is written anew is ASCII, well-formed, means the same number of values,
 * and is written the same when it is written again.
 */
#include "fuzz.h"

#include "bounds.h"
#include "json/json_check.h"
#include "json/json_pretty.h"

static struct buf once, twice;

static bool check(struct slice text, size_t *tokens)
{
	struct json_check c;

	json_check_init(&c);
	if (json_check_feed(&c, text) < 0 || json_check_end(&c) < 0)
		return false;
	*tokens = c.tokens;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };
	size_t tokens, same;

	if (!check(in, &tokens))
		return 0;
	fuzz_buf(&once, 16 * MIB);
	json_pretty(&once, in);
	MUST(!once.failed);
	for (size_t i = 0; i < once.len; i++)
		MUST((unsigned char)once.p[i] < 0x80);
	MUST(check(buf_all(&once), &same) && same == tokens);
	fuzz_buf(&twice, 16 * MIB);
	json_pretty(&twice, buf_all(&once));
	MUST(slice_eq(buf_all(&once), buf_all(&twice)));
	return 0;
}
