/* What is read out of replies: no more than a step needs (sandbox-tools.md sections 6.2 and 6.3).
 */
#include "base/str.h"
#include "bounds.h"
#include "proxy/master.h"

size_t reply_max(bool list)
{
	size_t streams =
		4 * master_config()->max_output + REPLY_EXTRA; /* two, as shrink keeps them */

	return list || streams < RESULT_MAX ? RESULT_MAX : streams;
}

struct slice reply_list(const struct master_call *c)
{
	const struct shrink *s = &c->shrink;

	if (reply_empty(c))
		return (struct slice){ 0 };
	if (s->root == '[')
		return buf_all(&c->text);
	if (s->root == '{' && s->arrays == 1)
		return (struct slice){ c->text.p + s->array_from, s->array_to - s->array_from };
	return (struct slice){ 0 };
}

struct slice reply_object(const struct master_call *c)
{
	if (reply_empty(c) || c->shrink.root != '{')
		return (struct slice){ 0 };
	return buf_all(&c->text);
}

int reply_member(const struct json *d, int object, struct slice name)
{
	if (json_type(d, object) != JSON_OBJECT)
		return -1;
	for (int key = json_first(d, object); key >= 0; key = json_next(d, object, key))
		if (json_str_eq(d, key, name))
			return json_value(key);
	return -1;
}

struct slice reply_text(struct buf *mem, struct slice raw)
{
	struct slice inner = { raw.p + 1, raw.n - 2 }, text;
	struct json d;
	size_t at = mem->len;

	if (!str_has(inner, '\\'))
		return inner;
	buf_slice(mem, raw);
	if (mem->failed || json_parse(&d, mem->p + at, raw.n, mem) < 0 ||
		json_str(&d, 0, &text) < 0)
		return inner;
	return text;
}

/* The first of the names that is a member of one of these types; -1: none. */
static int first_member(const struct json *d, int object, struct slice names, bool objects_too)
{
	int at;

	while (names.n) {
		at = reply_member(d, object, str_word(&names));
		if (json_type(d, at) == JSON_STRING ||
			(objects_too && json_type(d, at) == JSON_OBJECT))
			return at;
	}
	return -1;
}

static struct slice text_at(const struct json *d, int at, struct buf *mem)
{
	struct slice none = { 0 };

	return at < 0 ? none : reply_text(mem, json_raw(d, at));
}

enum life reply_life(const struct json *d, int object, struct buf *mem, struct slice *word)
{
	int at = first_member(d, object, names_of(NAMES_STATE), true);

	if (json_type(d, at) == JSON_OBJECT)
		at = first_member(d, at, names_of(NAMES_STATE), false);
	*word = text_at(d, at, mem);
	if (at < 0 || names_have(NAMES_STARTED, *word))
		return LIFE_STARTED;
	return names_have(NAMES_FAILED, *word) ? LIFE_FAILED : LIFE_WAITING;
}

struct slice reply_reason(const struct json *d, int object, struct buf *mem)
{
	int state = first_member(d, object, names_of(NAMES_STATE), true);
	int at = first_member(d, object, names_of(NAMES_REASON), false);

	if (at < 0 && json_type(d, state) == JSON_OBJECT)
		at = first_member(d, state, names_of(NAMES_REASON), false);
	return text_at(d, at, mem);
}
