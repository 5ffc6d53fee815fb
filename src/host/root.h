/*
 * The workspace root: one descriptor, below which every path of a client is looked up, and the two
 * ways to spell it: as resolved at start, and as configured when that differs (a root behind a
 * symbolic link).
 */
#ifndef HOST_ROOT_H
#define HOST_ROOT_H

/* Opens the root, made with parents when missing. 0 or -errno. Opening another one closes the
 * first. */
int root_open(const char *configured) __attribute__((warn_unused_result));

/* O_PATH, good until the next call: what its path names now, made when it was removed. */
int root_fd(void);
const char *root_path(void); /* resolved, absolute, no slash at the end but for "/" itself */

/*
 * What of an absolute path follows the root, in either spelling, without slashes before it: "" for
 * the root itself, NULL when the path does not start with the root. Compared by component; the rest
 * may hold anything, ".." too.
 */
const char *root_below(const char *path);

#endif
