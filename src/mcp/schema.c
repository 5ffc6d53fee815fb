#include "mcp/schema.h"

#include "base/str.h"

static const char *type_name(enum arg_type t)
{
	static const char *const names[] = {
		[ARG_STR] = "string",
		[ARG_INT] = "integer",
		[ARG_BOOL] = "boolean",
		[ARG_SECONDS] = "number",
		[ARG_STRS] = "array",
	};

	return names[t];
}

static void put_type(struct jw *w, const char *name)
{
	jw_puts(w, "type", name);
}

static void put_bounds(struct jw *w, const struct arg *a)
{
	static const struct {
		const char *min, *max;
	} words[] = {
		[ARG_STR] = { "minLength", "maxLength" },
		[ARG_INT] = { "minimum", "maximum" },
		[ARG_SECONDS] = { "minimum", "maximum" },
		[ARG_STRS] = { "minItems", NULL },
	};

	if (a->min > 0 || (a->max && a->type != ARG_STR))
		jw_int(w, words[a->type].min, a->min);
	if (a->max)
		jw_int(w, words[a->type].max, a->max);
}

static void put_items(struct jw *w)
{
	jw_object(w, "items");
	put_type(w, "string");
	jw_close(w);
}

static void put_value(struct jw *w, const struct arg *a)
{
	struct slice rest = slice_of(a->choices ? a->choices : "");

	put_type(w, type_name(a->type));
	if (a->type == ARG_STRS)
		put_items(w);
	put_bounds(w, a);
	if (rest.n == 0)
		return;
	jw_array(w, "enum");
	while (rest.n > 0)
		jw_str(w, NULL, str_split(&rest, '|'));
	jw_close(w);
}

/* The form of the reference: an optional argument is anyOf [T, null]. */
static void put_nullable(struct jw *w, const struct arg *a)
{
	jw_array(w, "anyOf");
	jw_object(w, NULL);
	put_value(w, a);
	jw_close(w);
	jw_object(w, NULL);
	put_type(w, "null");
	jw_close(w);
	jw_close(w);
}

static void put_default(struct jw *w, const struct arg *a)
{
	if (a->dflt == ARG_DEFAULT_ROOT)
		jw_puts(w, "default", tools_root());
	else if (a->dflt)
		jw_raw(w, "default", slice_of(a->dflt));
	else if (a->flags & ARG_NULL)
		jw_null(w, "default");
}

static void put_property(struct jw *w, const struct arg *a)
{
	jw_object(w, a->name);
	if (a->flags & ARG_NULL)
		put_nullable(w, a);
	else
		put_value(w, a);
	put_default(w, a);
	jw_puts(w, "description", a->desc);
	jw_close(w);
}

static void put_required(struct jw *w, const struct arg *args)
{
	bool any = false;

	for (const struct arg *a = args; a && a->name; a++) {
		if (!(a->flags & ARG_REQUIRED))
			continue;
		if (!any)
			jw_array(w, "required");
		any = true;
		jw_puts(w, NULL, a->name);
	}
	if (any)
		jw_close(w);
}

void schema_put_input(struct jw *w, const struct tool *t)
{
	jw_object(w, "inputSchema");
	put_type(w, "object");
	jw_object(w, "properties");
	for (const struct arg *a = t->args; a && a->name; a++)
		if (!(a->flags & ARG_HIDDEN))
			put_property(w, a);
	jw_close(w);
	put_required(w, t->args);
	if (!(t->flags & TOOL_LENIENT))
		jw_bool(w, "additionalProperties", false);
	jw_close(w);
}

/* structuredContent has one member, the result. */
static void put_result(struct jw *w, const char *type)
{
	jw_object(w, "properties");
	jw_object(w, "result");
	put_type(w, type);
	jw_close(w);
	jw_close(w);
	jw_array(w, "required");
	jw_puts(w, NULL, "result");
	jw_close(w);
}

void schema_put_output(struct jw *w, const struct tool *t)
{
	if (!(t->flags & TOOL_JSON) && !tools_structured())
		return;
	jw_object(w, "outputSchema");
	put_type(w, "object");
	if (!(t->flags & TOOL_JSON))
		put_result(w, "string");
	else if (t->flags & TOOL_LIST)
		put_result(w, "array");
	jw_close(w);
}
