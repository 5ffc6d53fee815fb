/*
 * The environment: what configures us, what children get, what neither they nor /proc may show.
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include <stdbool.h>

#include "base/slice.h"

/* The value of NAME=value in the process's environment, else in the env file; NULL when absent or empty. */
const char *env_get(const char *name);

/*
 * Reads FILE: KEY=VALUE lines, "#" comments, optional "export", one pair of outer quotes. 0; -errno when it cannot be
 * read; -EBADMSG with the number of the bad line in *line; -E2BIG over ENV_FILE_MAX.
 */
int env_file_load(const char *path, int *line) __attribute__((warn_unused_result));

/*
 * Takes the secrets out (decision 15): their values are wiped where /proc/PID/environ shows them, and children do not
 * get them. more: further names, separated by commas or blanks, or NULL. ours: is this a variable that configures us?
 * Such ones from the env file do not go to children. Afterwards env_list() is what children get.
 */
void env_scrub(const char *more, bool (*ours)(struct slice name));
char *const *env_list(void);

#endif
