/*
 * Paths and names as text: no descriptor, no look at the disk.
 *
 * Escaping: a name is shown with control bytes, backslash and ill-formed UTF-8 as \n, \t, \r, \\ or
 * \xHH (lower case). Each name has exactly one escaped form, and only that form can be turned back.
 */
#ifndef HOST_PATH_TEXT_H
#define HOST_PATH_TEXT_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The absolute path that `given` means when it is relative to the absolute `base`: empty parts and
 * "." dropped, ".." removes a part and stops at "/". 0, -ENAMETOOLONG, or -EINVAL for a NUL; then
 * out is "".
 */
int path_normal(const char *base, struct slice given, char *out, size_t size)
	__attribute__((warn_unused_result));

/* What follows `prefix` (absolute, normal) in an absolute path, without slashes before it; NULL:
 * something else. */
const char *path_strip(const char *path, const char *prefix);

/* The name whose escaped form s is, into out as a C string. False when s is none, or when nothing
 * in it is escaped. */
bool path_unescape(struct slice s, char *out, size_t size);

/*
 * A whole path of a client for a listing: what it wrote itself stays, but a component with control
 * bytes or ill-formed UTF-8 is escaped. The text leads path_find to the same place.
 */
void path_put_shown(struct buf *b, const char *path);

#endif
