/*
 * Directories that the administrator names: by path, links on the way followed. Paths of clients
 * are host/path's.
 */
#ifndef HOST_DIRS_H
#define HOST_DIRS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Makes the directory with this mode and missing parents with 0777, both less umask. 0, also when
 * it is there; -errno.
 */
int dirs_make(const char *path, mode_t mode) __attribute__((warn_unused_result));
/* Could it be written, or made and then written? 0 or -errno. Makes nothing. */
int dirs_usable(const char *path) __attribute__((warn_unused_result));
/*
 * The kernel's own spelling of where we stand. 0, or -errno (-ENOENT: it has no path here). libc's
 * getcwd and realpath would bring malloc along.
 */
int dirs_working(char *mem, size_t size) __attribute__((warn_unused_result));

#endif
