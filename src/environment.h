/*
 * The environment: what configures us, what children get, what neither they nor /proc may show.
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include <stdbool.h>

#include "base/slice.h"

/* The value of NAME=value in the process's environment, else in the env file; NULL when absent or
 * empty. */
const char *env_get(const char *name);

/*
 * The text of an env file: NAME=value lines, "#" comments, optional "export", one pair of outer
 * quotes; of two lines with the same name the later one counts. text, n bytes with room for one
 * more, is turned into "NAME=value" strings in place; vars, with room for max and a NULL behind
 * them, points to them. 0, or -EBADMSG with the number of the bad line in *line (no such
 * assignment, or one too many).
 */
int env_file_parse(char *text, size_t n, char **vars, int max, int *line)
	__attribute__((warn_unused_result));
/* Reads FILE as the env file. As env_file_parse, or -errno when it cannot be read; -E2BIG over
 * ENV_FILE_MAX. */
int env_file_load(const char *path, int *line) __attribute__((warn_unused_result));

/*
 * Takes the secrets out (decision 15): their values are wiped where /proc/PID/environ shows them,
 * and children do not get them. more: further names, separated by commas or blanks, or NULL. ours:
 * is this a variable that configures us? Such ones from the env file do not go to children, and
 * such ones in more do not either but keep their value. Once, at start; afterwards env_list() is
 * what children get.
 */
void env_scrub(const char *more, bool (*ours)(struct slice name));
char *const *env_list(void);

#endif
