#include "host/list_out.h"

#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "bounds.h"
#include "host/host.h"

enum {
	NAME_ESCAPED = 4 * NAME_MAX, /* \xHH for each byte */
	/* A path and the names of a whole depth below it; a row with a name and a link's target is
	   shorter. */
	LIST_LINE = 4 * PATH_MAX + (LIST_DEPTH + 1) * (NAME_ESCAPED + 1),
	LAST_LINE = 80, /* what the last line, "... more", takes */
};

int list_out_start(struct list_out *o, struct job *j)
{
	char *mem = buf_alloc(&j->mem, LIST_LINE);

	if (!mem)
		return -ENOMEM;
	buf_over(&o->line, mem, LIST_LINE);
	o->room = host_max_output() - LAST_LINE;
	tool_begin(j);
	return 0;
}

bool list_out_line(struct list_out *o, struct job *j)
{
	if (o->line.len + 1 > o->room)
		return false;
	o->room -= o->line.len + 1;
	if (o->begun)
		jw_text(&j->w, LIT("\n"));
	jw_text(&j->w, buf_all(&o->line));
	o->begun = true;
	return true;
}

bool list_turn_left(int64_t start, size_t seen)
{
	return seen < SLICE_ENTRIES && clock_ms() - start < LIST_SLICE_MS;
}
