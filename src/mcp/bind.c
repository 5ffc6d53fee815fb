#include "mcp/bind.h"

#include <errno.h>

#include "base/str.h"

static bool refuse(struct job *j, struct slice arg, const char *rule)
{
	tool_refuse(j, arg, rule);
	return false;
}

static const char strings_rule[] = "must be an array of strings, as in [\"sh\",\"-c\",\"...\"]";

static const char *bind_str(struct job *j, int i, int at)
{
	struct slice *s = &j->arg[i].str;
	int r = json_str(&j->doc, at, s);

	if (r == -EILSEQ)
		return "must not contain half of a surrogate pair";
	if (r < 0)
		return "must be a string";
	if (str_has(*s, '\0') && !(j->tool->args[i].flags & ARG_NUL))
		return "must not contain a NUL character";
	return NULL;
}

/* The text of a number, written as a JSON number or as a string; empty otherwise. */
static struct slice number_text(struct json *d, int at)
{
	struct slice s = { 0 };

	if (json_type(d, at) == JSON_NUMBER)
		return json_raw(d, at);
	if (json_str(d, at, &s) < 0)
		s.n = 0;
	return s;
}

/* 5, "5" and 5.0 are the same integer; 5.5 and "007" are none. */
static const char *bind_int(struct job *j, int i, int at)
{
	struct slice s = number_text(&j->doc, at);
	int64_t milli;
	bool exact;
	int r = str_milli(s, &milli, &exact);

	if (r == -ERANGE) /* for thousandths; digits alone may be more */
		return str_int(s, &j->arg[i].num) < 0 ? "is out of range" : NULL;
	if (r < 0 || !exact || milli % 1000)
		return "must be an integer";
	j->arg[i].num = milli / 1000;
	return NULL;
}

/* What nobody can count is longer, or more negative, than every limit. */
static const char *bind_seconds(struct job *j, int i, int at)
{
	struct slice s = number_text(&j->doc, at);
	int r = str_milli(s, &j->arg[i].num, NULL);

	if (r == -ERANGE)
		j->arg[i].num = s.p[0] == '-' ? INT64_MIN : INT64_MAX;
	return r == -EBADMSG ? "must be a number of seconds" : NULL;
}

static const char *bind_bool(struct job *j, int i, int at)
{
	enum json_type t = json_type(&j->doc, at);

	j->arg[i].yes = t == JSON_TRUE || json_str_is(&j->doc, at, "true");
	if (!j->arg[i].yes && t != JSON_FALSE && !json_str_is(&j->doc, at, "false"))
		return "must be true or false";
	return NULL;
}

/* The strings of an array of d, one after the other, as the text of an array in the job's memory.
 */
static const char *take_strings(struct job *j, int i, struct json *d, int array)
{
	size_t from = j->mem.len;
	struct slice s;
	struct jw w;
	int r = 0;

	jw_init(&w, &j->mem);
	jw_array(&w, NULL);
	for (int at = json_first(d, array); at >= 0 && r == 0; at = json_next(d, array, at)) {
		r = json_str(d, at, &s);
		if (r == 0 && str_has(s, '\0'))
			return "must not contain a NUL character";
		if (r == 0)
			jw_str(&w, NULL, s);
	}
	jw_close(&w);
	if (r == -EILSEQ)
		return "must not contain half of a surrogate pair";
	if (r < 0)
		return strings_rule;
	if (j->mem.failed)
		return "is larger than the server's memory";
	j->arg[i].str = buf_since(&j->mem, from);
	return NULL;
}

/* An array, or a string that holds the text of one. */
static const char *bind_strs(struct job *j, int i, int at)
{
	struct json inner, *d = &j->doc;
	struct slice s;

	if (json_str(d, at, &s) == 0) {
		if (json_parse(&inner, (char *)s.p, s.n, &j->mem) < 0)
			return strings_rule;
		d = &inner;
		at = 0;
	}
	if (json_type(d, at) != JSON_ARRAY)
		return strings_rule;
	if (j->tool->args[i].min && json_count(d, at) == 0)
		return "must not be empty";
	return take_strings(j, i, d, at);
}

/* What a->min and a->max allow, as a rule; units: how many of a value's units are one of theirs. */
static const char *bounds_rule(const struct arg *a, int64_t value, int64_t unit)
{
	static char mem[96];

	if ((!a->min && !a->max) || (value >= a->min * unit && (!a->max || value <= a->max * unit)))
		return NULL;
	if (a->type == ARG_STR && value == 0)
		return "must not be empty";
	str_printf(mem, sizeof(mem),
		a->type == ARG_STR ? "must have %lld to %lld bytes"
				   : "must be between %lld and %lld",
		(long long)a->min, (long long)a->max);
	return mem;
}

static const char *bound_rule(const struct job *j, int i)
{
	const struct arg *a = &j->tool->args[i];

	switch (a->type) {
	case ARG_STR:
		return bounds_rule(a, (int64_t)j->arg[i].str.n, 1);
	case ARG_INT:
		return bounds_rule(a, j->arg[i].num, 1);
	case ARG_SECONDS:
		return bounds_rule(a, j->arg[i].num, 1000);
	case ARG_BOOL:
	case ARG_STRS:
		break;
	}
	return NULL;
}

/* May it be null, which then means "not given"? */
static bool null_taken(const struct job *j, const struct arg *a)
{
	return (a->flags & ARG_NULL) ||
	       ((j->tool->flags & TOOL_LENIENT) && !(a->flags & ARG_REQUIRED));
}

static const char *bind_value(struct job *j, int i, int at)
{
	static const char *(*const binders[])(struct job * j, int i, int at) = {
		[ARG_STR] = bind_str,
		[ARG_INT] = bind_int,
		[ARG_BOOL] = bind_bool,
		[ARG_SECONDS] = bind_seconds,
		[ARG_STRS] = bind_strs,
	};
	const struct arg *a = &j->tool->args[i];
	const char *rule;

	if (json_type(&j->doc, at) == JSON_NULL && null_taken(j, a))
		return NULL;
	rule = binders[a->type](j, i, at);
	if (!rule)
		rule = bound_rule(j, i);
	if (!rule)
		j->given |= UINT32_C(1) << i;
	return rule;
}

/* Of a string that may only be one of a few: is it? Else the refusal names them. */
static bool bind_choice(struct job *j, int i)
{
	const struct arg *a = &j->tool->args[i];
	char mem[NAME_SHOWN_MAX];
	struct slice rest;
	struct buf b;

	if (!a->choices || !arg_given(j, i) || str_among(arg_str(j, i), a->choices, '|'))
		return true;
	buf_over(&b, mem, sizeof(mem) - 1);
	buf_puts(&b, "must be one of");
	for (rest = slice_of(a->choices); rest.n > 0;) {
		struct slice choice = str_split(&rest, '|');

		buf_printf(&b, " %.*s%s", SLICE(choice), rest.n > 0 ? "," : "");
	}
	mem[b.len] = '\0';
	return refuse(j, slice_of(a->name), mem);
}

static int arg_index(const struct job *j, int key)
{
	const struct arg *a = j->tool->args;

	for (int i = 0; a && a[i].name; i++)
		if (json_key_is(&j->doc, key, a[i].name) ||
			(a[i].alias && json_key_is(&j->doc, key, a[i].alias)))
			return i;
	return -1;
}

/* The key of an argument we do not know; with its escapes when these are no text. */
static struct slice key_text(struct job *j, int key)
{
	struct slice s;

	if (json_str(&j->doc, key, &s) < 0)
		s = json_raw(&j->doc, key);
	return slice_head(s, NAME_SHOWN_MAX);
}

static bool bind_member(struct job *j, int key)
{
	int i = arg_index(j, key);
	const char *rule;

	if (i < 0 && (j->tool->flags & TOOL_LENIENT))
		return true;
	if (i < 0)
		return refuse(j, key_text(j, key), "unknown argument");
	if (j->arg_token[i] >= 0)
		return refuse(j, slice_of(j->tool->args[i].name), "given twice");
	j->arg_token[i] = json_value(key);
	rule = bind_value(j, i, j->arg_token[i]);
	if (rule)
		return refuse(j, slice_of(j->tool->args[i].name), rule);
	return bind_choice(j, i);
}

static bool required_given(struct job *j)
{
	const struct arg *a = j->tool->args;

	for (int i = 0; a && a[i].name; i++)
		if ((a[i].flags & ARG_REQUIRED) && !arg_given(j, i))
			return refuse(j, slice_of(a[i].name), "required");
	return true;
}

bool bind_arguments(struct job *j, int arguments)
{
	j->given = 0;
	for (int i = 0; i < TOOL_ARGS_MAX; i++) {
		j->arg[i] = (union arg_value){ 0 };
		j->arg_token[i] = -1;
	}
	for (int key = json_first(&j->doc, arguments); key >= 0;
		key = json_next(&j->doc, arguments, key))
		if (!bind_member(j, key))
			return false;
	return required_given(j);
}

struct slice arg_str(const struct job *j, int which)
{
	return arg_given(j, which) ? j->arg[which].str : (struct slice){ 0 };
}

int64_t arg_num(const struct job *j, int which)
{
	return j->arg[which].num;
}

bool arg_bool(const struct job *j, int which)
{
	return j->arg[which].yes;
}

bool arg_given(const struct job *j, int which)
{
	return j->given >> which & 1;
}

struct slice arg_raw(const struct job *j, int which)
{
	struct json d = j->doc;

	return arg_given(j, which) ? number_text(&d, j->arg_token[which]) : (struct slice){ 0 };
}
