/*
 * Secrets from the environment or from files (decision 25). To be loaded before env_scrub wipes the
 * environment.
 */
#ifndef SECRETS_H
#define SECRETS_H

#include <limits.h>

#include "bounds.h"
#include "base/slice.h"

struct secret {
	char text[SECRET_MAX];
	size_t n;
	const char *name;    /* of the variable, without _FILE */
	char path[PATH_MAX]; /* of the file it came from; empty: not from a file */
};

/*
 * The value of the first of names (ended by NULL) that is set, or the contents of the file that
 * NAME_FILE names, without blanks at its ends. 1: found, 0: none is set, -errno of the file (its
 * path is in s->path).
 */
int secret_load(struct secret *s, const char *const *names) __attribute__((warn_unused_result));
/* For the token of serve: SANDSTORM_MCP_TOKEN, else MCP_AUTH_TOKEN. */
extern const char *const secret_mcp[];
/* Reads the file again, if it came from one; on an error the old value stays. 1 when it was read,
 * 0, or -errno. */
int secret_reread(struct secret *s) __attribute__((warn_unused_result));

static inline struct slice secret_text(const struct secret *s)
{
	return (struct slice){ s->text, s->n };
}

#endif
