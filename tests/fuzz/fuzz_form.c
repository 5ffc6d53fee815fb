/*
 * A query or form: whatever it holds, values are well-formed UTF-8 without NUL, no longer than what
 * they came from, and written again and read again they are the same.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/percent.h"
#include "base/str.h"
#include "front/form.h"

static const char *const names[] = { "code", "state", "redirect_uri" };
enum { NAMES = sizeof(names) / sizeof(*names) };

static bool well_formed(struct slice s)
{
	for (int n; s.n > 0; s = slice_from(s, (size_t)n)) {
		n = utf8_seq(s);
		if (n < 1 || s.p[0] == '\0')
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buf mem, text, again_mem;
	struct slice in = { (const char *)data, size }, found[NAMES], again[NAMES];
	int r = form_pick(in, names, NAMES, found, fuzz_buf(&mem, 1 << 20));

	MUST(r == 0 || r == -EEXIST || r == -EBADMSG);
	if (r < 0)
		return 0;
	fuzz_buf(&text, 1 << 22);
	for (int i = 0; i < NAMES; i++) {
		if (!found[i].p)
			continue;
		MUST(found[i].n > 0 && found[i].n <= size && well_formed(found[i]));
		buf_printf(&text, "&%s=", names[i]);
		percent_put(&text, found[i]);
	}
	MUST(form_pick(buf_all(&text), names, NAMES, again, fuzz_buf(&again_mem, 1 << 20)) == 0);
	for (int i = 0; i < NAMES; i++)
		MUST(slice_eq(found[i], again[i]));
	return 0;
}
