/*
 * context.env: an object of variables for the commands of a session.
 */
#ifndef HOST_SESSION_ENV_H
#define HOST_SESSION_ENV_H

#include "json/json.h"

/*
 * The variables of the object at `at`, each "NAME=value", as an array ended by NULL; all of it in
 * mem. Names: letters, digits, "_", not a digit first, and not SANDSTORM_JOB, by which we find what
 * a command has started. Values: strings without NUL; numbers, true and false as they are written.
 * NULL with the reason in *why, which may name the variable.
 */
const char *const *session_env(struct json *d, int at, struct buf *mem, struct buf *why);

#endif
