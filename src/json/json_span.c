#include "json/json_span.h"

#include "base/str.h"
#include "json/json_scan.h"

/* The value of the \u escape at the start of s, or -1 when none stands there. */
static int u_escape(struct slice s)
{
	if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
		return -1;
	return (int)json_hex4(s.p + 2);
}

static struct json_span escape(struct slice s)
{
	int c = u_escape(s), low;

	if (c < 0)
		return (struct json_span){ 2, 1 };
	low = u_escape(slice_from(s, 6));
	if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000)
		return (struct json_span){ 12, 4 };
	return (struct json_span){ 6, c < 0x80 ? 1 : c < 0x800 ? 2 : 3 };
}

struct json_span json_span_first(struct slice s)
{
	size_t n;

	if (s.p[0] == '\\')
		return escape(s);
	n = utf8_quick(s) > 0 ? (size_t)utf8_quick(s) : 1;
	return (struct json_span){ n, n };
}

static void add(struct json_span *a, struct json_span b)
{
	a->written += b.written;
	a->text += b.text;
}

/* The plain characters at the start of s, at most so many. */
static struct json_span plain(struct slice s, uint64_t most)
{
	size_t run = json_plain_run(s);

	if (run > most)
		run = (size_t)most;
	return (struct json_span){ run, run };
}

struct json_span json_span_upto(struct slice s, uint64_t most)
{
	struct json_span a = { 0 }, c;

	while (a.written < s.n) {
		add(&a, plain(slice_from(s, a.written), most - a.text));
		if (a.written == s.n)
			break;
		c = json_span_first(slice_from(s, a.written));
		if (a.text + c.text > most)
			break;
		add(&a, c);
	}
	return a;
}

struct json_span json_span_atleast(struct slice s, uint64_t least)
{
	struct json_span a = { 0 };

	while (a.written < s.n && a.text < least) {
		add(&a, plain(slice_from(s, a.written), least - a.text));
		if (a.written < s.n && a.text < least)
			add(&a, json_span_first(slice_from(s, a.written)));
	}
	return a;
}

struct json_span json_span_leaving(struct slice s, size_t rest)
{
	struct json_span a = { 0 };

	while (s.n - a.written > rest) {
		add(&a, plain(slice_from(s, a.written), s.n - a.written - rest));
		if (s.n - a.written > rest)
			add(&a, json_span_first(slice_from(s, a.written)));
	}
	return a;
}
