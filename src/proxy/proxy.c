#include "proxy/proxy.h"

#include "base/str.h"
#include "bounds.h"
#include "proxy/master.h"

static const struct tool *const groups[] = { catalog_tools, spawn_tools, sandbox_tools,
	inside_tools, wait_tools, ping_tools, ending_tools, NULL };

const struct toolset sandbox_toolset = { "sandbox", groups };

const struct tool *sandbox_tool(struct slice name)
{
	for (const struct tool *const *group = groups; *group; group++)
		for (const struct tool *t = *group; t->name; t++)
			if (slice_is(name, t->name))
				return t;
	return NULL;
}

/* The text block, in which every quote has a backslash more, and structuredContent. */
size_t sandbox_output(void)
{
	return 3 * reply_max(false) / REPLY_FACTOR;
}
