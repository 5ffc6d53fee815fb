/*
 * Any document can be walked to its last token; every string unescapes once and stays the same, or
 * is refused without a trace; what is written of it again reads as the same document.
 */
#include "fuzz.h"

#include <errno.h>

#include "bounds.h"
#include "json/json.h"
#include "json/json_write.h"

static struct buf text, mem, out, again;
static int walked, deepest;

/*
 * A string, with what must be true of it before and after it is unescaped; empty when it is
 * refused.
 */
static struct slice take_string(struct json *d, int at)
{
	struct slice raw = json_raw(d, at), s, same;
	bool was_empty = json_str_is(d, at, ""), was_name = json_key_is(d, at, "name");

	MUST(raw.n >= 2 && raw.p[0] == '"' && raw.p[raw.n - 1] == '"');
	if (json_str(d, at, &s) < 0) {
		buf_cut(&again, 0);
		buf_slice(&again, raw);
		MUST(json_str(d, at, &s) == -EILSEQ);
		MUST(slice_eq(raw, buf_all(&again)));
		return (struct slice){ NULL, 0 };
	}
	MUST(s.n <= raw.n - 2);
	MUST(json_str(d, at, &same) == 0 && same.p == s.p && same.n == s.n);
	MUST(was_empty == (s.n == 0) && json_str_is(d, at, "") == was_empty);
	MUST(was_name == slice_is(s, "name") && json_key_is(d, at, "name") == was_name);
	return s;
}

static void put_key(struct jw *w, struct json *d, int at)
{
	/* The writer's keys are literals; one of the text goes in as a string of an array. */
	walked++;
	jw_str(w, NULL, take_string(d, at));
}

/* Writes the value at `at` anew: objects as arrays of key, value, key, value. */
static void put_value(struct jw *w, struct json *d, int at, int depth)
{
	enum json_type type = json_type(d, at);
	int i, count = 0;
	int64_t n;

	MUST(type != JSON_NONE && depth <= JSON_DEPTH_MAX);
	walked++;
	if (deepest < depth)
		deepest = depth;
	if (type == JSON_STRING) {
		jw_str(w, NULL, take_string(d, at));
	} else if (type != JSON_OBJECT && type != JSON_ARRAY) {
		MUST(type == JSON_NUMBER || json_int(d, at, &n) == -EINVAL);
		jw_raw(w, NULL, json_raw(d, at));
	} else {
		jw_array(w, NULL);
		for (i = json_first(d, at); i >= 0; i = json_next(d, at, i), count++) {
			if (type == JSON_OBJECT)
				put_key(w, d, i);
			put_value(w, d, type == JSON_OBJECT ? json_value(i) : i, depth + 1);
		}
		MUST(count == json_count(d, at));
		jw_close(w);
	}
}

/* False when the document has one level more than the writer. */
static bool write_anew(struct json *d, struct buf *to)
{
	struct jw w;

	walked = deepest = 0;
	jw_init(&w, to);
	put_value(&w, d, 0, 0);
	MUST(walked == d->n && w.repaired == 0);
	MUST(!to->failed || deepest >= JSON_DEPTH_MAX - 1);
	return !to->failed;
}

static void picks_as_it_gets(const struct json *d)
{
	static const char *const names[] = { "a", "name", "id" };
	int found[3], i, r = json_pick(d, 0, names, 3, found);

	MUST((r == -EINVAL) == (json_type(d, 0) != JSON_OBJECT));
	for (i = 0; i < 3; i++)
		MUST(found[i] == json_get(d, 0, names[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json d;
	struct buf first = { 0 };

	fuzz_buf(&text, MIB);
	fuzz_buf(&mem, 8 * MIB);
	fuzz_buf(&out, 16 * MIB);
	fuzz_buf(&again, 16 * MIB);
	buf_put(&text, data, size);
	if (json_parse(&d, text.p, text.len, &mem) < 0)
		return 0;
	picks_as_it_gets(&d);
	if (!write_anew(&d, &out))
		return 0;
	picks_as_it_gets(&d);
	MUST(buf_reserve(&first, out.len) == 0);
	buf_slice(&first, buf_all(&out));
	buf_reset(&mem, true);
	MUST(json_parse(&d, out.p, out.len, &mem) == 0);
	fuzz_buf(&text, MIB);
	MUST(write_anew(&d, &text));
	MUST(slice_eq(buf_all(&text), buf_all(&first)));
	buf_release(&first);
	return 0;
}
