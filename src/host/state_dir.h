/*
 * The state directory: what is to survive a restart, and what is too long for memory.
 * SANDSTORM_STATE_DIR, else .sandstorm-mcp below the workspace root. Nothing is made before there
 * is something to keep.
 */
#ifndef HOST_STATE_DIR_H
#define HOST_STATE_DIR_H

#include <stdbool.h>

/* NULL: below the root, which is open. 0 or -errno for a path that cannot be one. */
int state_dir_setup(const char *configured) __attribute__((warn_unused_result));
const char *state_dir_path(void); /* absolute */

/* Can something be kept there? 0 or -errno. Makes nothing. */
int state_dir_check(void) __attribute__((warn_unused_result));
/*
 * A descriptor of it (O_RDONLY, so that it can be synced), the caller's own; make: made when
 * missing, 0700, hidden from git. -errno, -ENOENT when it is missing and not to be made. Below the
 * root it is never reached through a link. Files in it are opened with O_NOFOLLOW and 0600.
 */
int state_dir_open(bool make) __attribute__((warn_unused_result));
/* Says in the log, once, that nothing can be kept there. */
void state_dir_complain(int err);
/*
 * Two servers may share the directory, but not every file in it: takes the lock file `name` for the
 * life of the process. 0, -EBUSY when another process has it, -errno. A file system that knows no
 * locks has them all free.
 */
int state_dir_lock(int dir, const char *name) __attribute__((warn_unused_result));

#endif
