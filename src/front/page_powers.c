/*
 * What somebody who allows access gives away, in words.
 */
#include "front/page.h"
#include "mcp/tool.h"

/*
 * Git runs hooks and package managers run scripts, both of which a client may have written: each
 * tool that starts programs and is not only for reading counts as a shell.
 */
static const char *sentence(void)
{
	bool changes = false;

	for (const struct tool *t = tool_next(NULL); t; t = tool_next(t)) {
		if (t->flags & TOOL_READS)
			continue;
		if (t->flags & TOOL_SPAWNS)
			return "run commands on this server, and so read, change and delete all "
			       "that the server's user can";
		changes = true;
	}
	return changes ? "read, change and delete the files of the workspace"
		       : "read the files of the workspace, and change nothing";
}

void page_put_powers(struct buf *b)
{
	buf_printf(b, "<p>If you allow it, it can %s, until the token is changed.</p>", sentence());
	buf_puts(b, "<details><summary>The tools it gets</summary><ul>");
	for (const struct tool *t = tool_next(NULL); t; t = tool_next(t)) {
		buf_puts(b, "<li>");
		page_text(b, slice_of(t->title));
		buf_puts(b, "</li>");
	}
	buf_puts(b, "</ul></details>");
}
