/* Which tools there are, and how they are listed. */
#include "mcp/tool.h"

#include <errno.h>

#include "base/str.h"
#include "mcp/schema.h"

enum { TOOLS_MAX = 64 };

const char ARG_DEFAULT_ROOT[] = "";

static const struct tool
	*chosen[TOOLS_MAX]; /* in the order of the tables, however they were named */
static int chosen_count;
static const char *workspace_root;
static bool structured_results;

void tools_setup(const char *root, bool structured)
{
	workspace_root = root;
	structured_results = structured;
}

const char *tools_root(void)
{
	return workspace_root;
}

bool tools_structured(void)
{
	return structured_results;
}

static int tool_at(struct slice name)
{
	int i = 0;

	while (i < chosen_count && !slice_is(name, chosen[i]->name))
		i++;
	return i;
}

const struct tool *tool_find(struct slice name)
{
	int i = tool_at(name);

	return i < chosen_count ? chosen[i] : NULL;
}

const struct tool *tool_next(const struct tool *t)
{
	int i = t ? tool_at(slice_of(t->name)) + 1 : 0;

	return i < chosen_count ? chosen[i] : NULL;
}

bool tools_include(const struct toolset *s)
{
	for (const struct tool *const *group = s->groups; *group; group++)
		for (const struct tool *t = *group; t->name; t++)
			if (tool_find(slice_of(t->name)) == t)
				return true;
	return false;
}

/* --- choosing --- */

/* What a list such as "host,-terminal_exec" says of tool t of set s: the last word that names it
 * decides. */
static bool listed(struct slice list, const struct toolset *s, const struct tool *t)
{
	bool in = false;

	while (list.n) {
		struct slice word = str_trim(str_split(&list, ','));
		bool minus = word.n && word.p[0] == '-';

		if (minus)
			word = slice_from(word, 1);
		if (slice_is(word, s->name) || slice_is(word, t->name))
			in = !minus;
	}
	return in;
}

/* Does fn for every tool of every set until it gives true; gives whether it did. */
static bool any_tool(const struct toolset *sets,
	bool (*fn)(const struct toolset *s, const struct tool *t, void *ctx), void *ctx)
{
	for (const struct toolset *s = sets; s->name; s++)
		for (const struct tool *const *group = s->groups; *group; group++)
			for (const struct tool *t = *group; t->name; t++)
				if (fn(s, t, ctx))
					return true;
	return false;
}

static bool named(const struct toolset *s, const struct tool *t, void *word)
{
	struct slice w = *(struct slice *)word;

	return slice_is(w, s->name) || slice_is(w, t->name);
}

static int words_check(const struct toolset *sets, struct slice list, struct slice *bad)
{
	struct slice word;

	while (list.n) {
		*bad = word = str_trim(str_split(&list, ','));
		if (word.n && word.p[0] == '-')
			word = slice_from(word, 1);
		if (bad->n && !any_tool(sets, named, &word))
			return -EINVAL;
	}
	return 0;
}

struct choice {
	struct slice list;
	bool read_only;
};

static bool choose(const struct toolset *s, const struct tool *t, void *ctx)
{
	const struct choice *c = ctx;

	if (listed(c->list, s, t) && (!c->read_only || (t->flags & TOOL_READS)) &&
		chosen_count < TOOLS_MAX)
		chosen[chosen_count++] = t;
	return false;
}

int tools_choose(const struct toolset *sets, const char *list, bool read_only, struct slice *bad)
{
	struct choice c = { slice_of(list), read_only };
	int r = words_check(sets, c.list, bad);

	if (r < 0)
		return r;
	chosen_count = 0;
	any_tool(sets, choose, &c);
	return 0;
}

/* --- listing --- */

/* Of a sandbox tool that only reads, nothing is said about how it changes things; the host tools
 * have always had all four. */
static void put_annotations(struct jw *w, const struct tool *t)
{
	jw_object(w, "annotations");
	jw_puts(w, "title", t->title);
	jw_bool(w, "readOnlyHint", t->flags & TOOL_READS);
	if (!(t->flags & TOOL_READS) || !(t->flags & TOOL_JSON)) {
		jw_bool(w, "destructiveHint", t->flags & TOOL_DESTROYS);
		jw_bool(w, "idempotentHint", t->flags & TOOL_IDEMPOTENT);
	}
	jw_bool(w, "openWorldHint", t->flags & TOOL_OPEN);
	jw_close(w);
}

static void tool_put(struct jw *w, const struct tool *t)
{
	jw_object(w, NULL);
	jw_puts(w, "name", t->name);
	jw_puts(w, "title", t->title);
	jw_puts(w, "description", t->desc);
	schema_put_input(w, t);
	schema_put_output(w, t);
	put_annotations(w, t);
	jw_close(w);
}

void tools_put(struct jw *w, const char *key)
{
	jw_array(w, key);
	for (int i = 0; i < chosen_count; i++)
		tool_put(w, chosen[i]);
	jw_close(w);
}
