/*
 * A directory of the test's own below /tmp, which goes with all that is in it.
 */
#ifndef TOP_DIR_H
#define TOP_DIR_H

#include "unit.h"

#include <limits.h>

static char top[64];

/* Good until the next call. */
static inline const char *in_top(const char *name)
{
	static char mem[PATH_MAX];

	snprintf(mem, sizeof(mem), "%s/%s", top, name);
	return mem;
}

/* Set-up and teardown of a test; 0 when it worked. */
static inline int top_make(void **state)
{
	(void)state;
	strcpy(top, "/tmp/sandstorm-unit-XXXXXX");
	return mkdtemp(top) == NULL;
}

static inline int top_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

#endif
