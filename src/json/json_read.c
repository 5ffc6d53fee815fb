#include "json/json.h"

#include <errno.h>

#include "base/str.h"
#include "json/json_check.h"
#include "json/json_scan.h"
#include "bounds.h"

/* Parent links keep jsmn linear in wide texts. */
#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "jsmn.h"
#pragma GCC diagnostic pop

/* The release leaves its token without a struct tag; this gives it the one that json.h names. */
struct jsmntok {
	jsmntok_t t;
};

_Static_assert(sizeof(struct jsmntok) == sizeof(jsmntok_t), "the arrays are the same");

/*
 * In place of a string's parent link, which nobody needs once the text is tokenized: it is
 * unescaped already.
 */
enum { DECODED = -2 };

/* The number of tokens, or what is wrong with the text. */
static int check(const char *text, size_t len)
{
	struct json_check c;
	int r;

	json_check_init(&c);
	r = json_check_feed(&c, (struct slice){ text, len });
	if (r == 0)
		r = json_check_end(&c);
	if (r == 0 && c.tokens > JSON_TOKENS_MAX)
		r = -E2BIG;
	return r < 0 ? r : (int)c.tokens;
}

/* Strict jsmn wants a byte behind a number, so that one which is the whole text is not for it. */
static void take_scalar(jsmntok_t *t, struct slice text)
{
	struct slice s = str_trim(text);

	t->type = JSMN_PRIMITIVE;
	t->start = (int)(s.p - text.p);
	t->end = t->start + (int)s.n;
}

static bool tokenize(jsmntok_t *t, int n, struct slice text)
{
	jsmn_parser parser;

	if (n == 1 && !memchr("{[\"", str_trim(text).p[0], 3)) {
		take_scalar(t, text);
		return true;
	}
	jsmn_init(&parser);
	return jsmn_parse(&parser, text.p, text.n, t, (unsigned)n) == n;
}

int json_parse(struct json *d, char *text, size_t len, struct buf *mem)
{
	int n;

	*d = (struct json){ 0 };
	n = check(text, len);
	if (n < 0)
		return n;
	d->tok = buf_alloc(mem, (size_t)n * sizeof(*d->tok));
	if (!d->tok)
		return -ENOMEM;
	if (!tokenize(&d->tok->t, n, (struct slice){ text, len }))
		return -EBADMSG;
	d->text = text;
	d->len = len;
	d->n = n;
	return 0;
}

static const jsmntok_t *token(const struct json *d, int at)
{
	return at >= 0 && at < d->n ? &d->tok[at].t : NULL;
}

static struct slice inner(const struct json *d, const jsmntok_t *t)
{
	return (struct slice){ d->text + t->start, (size_t)(t->end - t->start) };
}

static enum json_type primitive_type(char first)
{
	switch (first) {
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

enum json_type json_type(const struct json *d, int at)
{
	const jsmntok_t *t = token(d, at);

	if (!t)
		return JSON_NONE;
	switch (t->type) {
	case JSMN_OBJECT:
		return JSON_OBJECT;
	case JSMN_ARRAY:
		return JSON_ARRAY;
	case JSMN_STRING:
		return JSON_STRING;
	default:
		return primitive_type(d->text[t->start]);
	}
}

int json_count(const struct json *d, int at)
{
	const jsmntok_t *t = token(d, at);

	return t && (t->type == JSMN_OBJECT || t->type == JSMN_ARRAY) ? t->size : 0;
}

int json_first(const struct json *d, int at)
{
	return json_count(d, at) > 0 ? at + 1 : -1;
}

int json_next(const struct json *d, int in, int at)
{
	int end, i = json_type(d, in) == JSON_OBJECT ? json_value(at) : at;

	if (!token(d, in) || !token(d, i))
		return -1;
	end = d->tok[i].t.end;
	for (i++; i < d->n && d->tok[i].t.start < end; i++)
		;
	return i < d->n && d->tok[i].t.start < d->tok[in].t.end ? i : -1;
}

/*
 * The code point of the \u escape at s (json_check has seen its digits) and in *used its length,
 * the second half of a pair included; -EILSEQ for a lone surrogate.
 */
static int32_t unicode_escape(struct slice s, size_t *used)
{
	uint32_t c = json_hex4(s.p + 2), low;

	*used = 6;
	if (c < 0xd800 || c > 0xdfff)
		return (int32_t)c;
	if (c > 0xdbff || s.n < 12 || s.p[6] != '\\' || s.p[7] != 'u')
		return -EILSEQ;
	low = json_hex4(s.p + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return -EILSEQ;
	*used = 12;
	return (int32_t)(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

/* Likewise for any escape. */
static int32_t escape(struct slice s, size_t *used)
{
	*used = 2;
	switch (s.p[1]) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		return unicode_escape(s, used);
	default:
		return s.p[1];
	}
}

/* Length of what stands before the next escape. */
static size_t literal_run(struct slice s)
{
	size_t i = 0;

	while (s.n - i >= 8 && !json_has_backslash(s.p + i))
		i += 8;
	while (i < s.n && s.p[i] != '\\')
		i++;
	return i;
}

/*
 * Where the first lone surrogate would stop unescaping: 0 or -EILSEQ. *first: offset of the first
 * escape.
 */
static int escapes_good(struct slice s, size_t *first)
{
	size_t used, i = literal_run(s);

	for (*first = i; i < s.n; i += literal_run(slice_from(s, i))) {
		used = 2;
		if (s.p[i + 1] == 'u' && unicode_escape(slice_from(s, i), &used) < 0)
			return -EILSEQ;
		i += used;
	}
	return 0;
}

/* Moves what stands before the next escape down from p + from to p + to; gives its length. */
static size_t move_run(char *p, size_t to, size_t from, size_t n)
{
	char eight[8]; /* the two places may overlap */
	size_t i = from;

	for (; n - i >= 8 && !json_has_backslash(p + i); i += 8, to += 8) {
		memcpy(eight, p + i, 8);
		memcpy(p + to, eight, 8);
	}
	while (i < n && p[i] != '\\')
		p[to++] = p[i++];
	return i - from;
}

/*
 * Unescapes p[at..n) in place, at being the first escape; gives the new length. Never longer than
 * the source.
 */
static size_t unescape(char *p, size_t at, size_t n)
{
	struct buf out;
	size_t used, run;
	int32_t c;

	buf_over(&out, p, n);
	out.len = at;
	while (at < n) {
		c = escape((struct slice){ p + at, n - at }, &used);
		if (c < 0x80)
			p[out.len++] = (char)c;
		else
			utf8_put(&out, (uint32_t)c);
		at += used;
		run = move_run(p, out.len, at, n);
		out.len += run;
		at += run;
	}
	return out.len;
}

int json_str(struct json *d, int at, struct slice *out)
{
	jsmntok_t *t;
	struct slice s;
	size_t first;
	int r;

	if (json_type(d, at) != JSON_STRING)
		return -EINVAL;
	t = &d->tok[at].t;
	s = inner(d, t);
	if (t->parent != DECODED) {
		r = escapes_good(s, &first);
		if (r < 0)
			return r;
		if (first < s.n)
			s.n = unescape(d->text + t->start, first, s.n);
		t->end = t->start + (int)s.n;
		t->parent = DECODED;
	}
	*out = s;
	return 0;
}

/* Does the escaped source s spell want? */
static bool spells(struct slice s, struct slice want)
{
	char mem[4];
	struct buf one;
	size_t used;
	int32_t c;

	while (s.n > 0 && want.n > 0) {
		buf_over(&one, mem, sizeof(mem));
		used = 1;
		c = *s.p == '\\' ? escape(s, &used) : -1;
		if (*s.p != '\\')
			buf_putc(&one, *s.p);
		else if (c < 0)
			return false;
		else
			utf8_put(&one, (uint32_t)c);
		if (one.len > want.n || memcmp(mem, want.p, one.len) != 0)
			return false;
		s = slice_from(s, used);
		want = slice_from(want, one.len);
	}
	return s.n == 0 && want.n == 0;
}

bool json_str_eq(const struct json *d, int at, struct slice want)
{
	struct slice s;

	if (json_type(d, at) != JSON_STRING)
		return false;
	s = inner(d, &d->tok[at].t);
	if (d->tok[at].t.parent == DECODED || !str_has(s, '\\'))
		return slice_eq(s, want);
	return spells(s, want);
}

bool json_str_is(const struct json *d, int at, const char *want)
{
	return json_str_eq(d, at, slice_of(want));
}

bool json_is_integer(const struct json *d, int at)
{
	struct slice s;

	if (json_type(d, at) != JSON_NUMBER)
		return false;
	s = inner(d, &d->tok[at].t);
	return !str_has(s, '.') && !str_has(s, 'e') && !str_has(s, 'E');
}

bool json_key_is(const struct json *d, int at, const char *name)
{
	return json_str_is(d, at, name);
}

int json_get(const struct json *d, int obj, const char *key)
{
	int at;

	if (json_type(d, obj) != JSON_OBJECT)
		return -1;
	for (at = json_first(d, obj); at >= 0; at = json_next(d, obj, at))
		if (json_key_is(d, at, key))
			return json_value(at);
	return -1;
}

int json_pick(const struct json *d, int obj, const char *const *names, int count, int *found)
{
	int i, at, r = 0;

	for (i = 0; i < count; i++)
		found[i] = -1;
	if (json_type(d, obj) != JSON_OBJECT)
		return -EINVAL;
	for (at = json_first(d, obj); at >= 0; at = json_next(d, obj, at)) {
		for (i = 0; i < count && !json_key_is(d, at, names[i]); i++)
			;
		if (i < count && found[i] >= 0)
			r = -EEXIST;
		else if (i < count)
			found[i] = json_value(at);
	}
	return r;
}

struct slice json_raw(const struct json *d, int at)
{
	const jsmntok_t *t = token(d, at);
	struct slice s;

	if (!t)
		return (struct slice){ 0 };
	s = inner(d, t);
	return t->type == JSMN_STRING ? (struct slice){ s.p - 1, s.n + 2 } : s;
}

int json_int(const struct json *d, int at, int64_t *out)
{
	int r;

	if (json_type(d, at) != JSON_NUMBER)
		return -EINVAL;
	r = str_int(inner(d, &d->tok[at].t), out);
	return r == -EBADMSG ? -EINVAL : r;
}
