#include "front/json_shape.h"

#include "base/str.h"

enum { MEMBERS_SHOWN = 16, NAME_MAX_SHOWN = 40 };

static void put_name(struct buf *b, const struct json *d, int key)
{
	struct slice name = json_raw(d, key);

	if (name.n > 2 && name.n <= NAME_MAX_SHOWN)
		buf_printf(b, "%.*s", (int)name.n - 2, name.p + 1);
	else
		buf_puts(b, name.n > 2 ? "(a long name)" : "(no name)");
}

static void put_object(struct buf *b, const struct json *d, int at)
{
	int shown = 0;

	buf_puts(b, json_count(d, at) ? "object with " : "empty object");
	for (int key = json_first(d, at); key >= 0; key = json_next(d, at, key)) {
		if (shown++ == MEMBERS_SHOWN) {
			buf_puts(b, ", ...");
			return;
		}
		buf_puts(b, shown > 1 ? ", " : "");
		put_name(b, d, key);
	}
}

static const char *plain_name(enum json_type type)
{
	switch (type) {
	case JSON_STRING:
		return "string";
	case JSON_NUMBER:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "truth value";
	case JSON_ARRAY:
		return "array";
	default:
		return "null";
	}
}

static void put_value(struct buf *b, const struct json *d, int at)
{
	if (json_type(d, at) == JSON_OBJECT)
		put_object(b, d, at);
	else
		buf_puts(b, plain_name(json_type(d, at)));
}

void json_put_shape(struct buf *b, const struct json *d, int at)
{
	if (json_type(d, at) != JSON_ARRAY) {
		put_value(b, d, at);
		return;
	}
	buf_printf(b, "array of %d", json_count(d, at));
	if (json_count(d, at)) {
		buf_puts(b, ", the first: ");
		put_value(b, d, json_first(d, at));
	}
}

int json_list_in(const struct json *d)
{
	int found = -1;

	if (json_type(d, 0) == JSON_ARRAY)
		return 0;
	for (int key = json_first(d, 0); key >= 0 && json_type(d, 0) == JSON_OBJECT;
		key = json_next(d, 0, key)) {
		if (json_type(d, json_value(key)) != JSON_ARRAY)
			continue;
		if (found >= 0)
			return -1;
		found = json_value(key);
	}
	return found;
}
