/*
 * Paths of clients, resolved below the workspace root by descriptors only, one component at a time
 * (decision 58).
 *
 * Grammar (host-tools.md section 4): empty is the root; absolute or relative to the root; "." and
 * empty parts are dropped, ".." removes a part lexically; "~" and "$" are literal. The result must
 * lie at or below the root. Symbolic links are resolved by us: inside the root they may lead
 * anywhere inside; a target outside is refused.
 */
#ifndef HOST_PATH_H
#define HOST_PATH_H

#include <limits.h>

#include "mcp/tool.h"

enum {                    /* how path_find treats what it meets */
	PATH_FOLLOW = 1,  /* a link at the end is followed (to a name that may not exist yet) */
	PATH_PARENTS = 2, /* missing parents are made, 0777 less umask */
};

struct place {
	int dir;                 /* O_PATH descriptor of the parent directory; -1: nothing open */
	char name[NAME_MAX + 1]; /* the last component below dir; "." for the root itself */
	char shown[PATH_MAX]; /* normalised absolute path as the client gave it, links not resolved:
				 for texts */
};

/*
 * Finds where the path leads. 0; -EXDEV when it leaves the root; -ELOOP, -ENOTDIR, -ENOENT (a
 * parent is missing), -ENAMETOOLONG, -EACCES and what else the kernel says. The last component need
 * not exist. p->shown is set whenever the path could be normalised, also on errors. place_close
 * after success and after errors alike.
 */
int path_find(struct place *p, struct slice given, unsigned how);
void place_close(struct place *p);
/* Opens what the path leads to as a directory (O_PATH | O_DIRECTORY), made with parents when make.
 * fd or -errno. */
int path_open_dir(struct place *p, struct slice given, bool make);

/*
 * The same within a tree of its own below the root, whose top (O_PATH, at "/..." below the root)
 * paths and links must not leave. Relative paths begin at base, absolute, at or below that top.
 */
struct path_top {
	int fd;
	const char *below;
};
int path_open_dir_within(const struct path_top *top, const char *base, struct place *p,
	struct slice given, bool make);

/* The error result of a file tool, in the words of the contract, for a -errno of path_find or of a
 * later call. */
enum step path_fail(struct job *j, const struct place *p, struct slice given, int err);

/* name with control bytes, backslash and ill-formed UTF-8 escaped (\n, \t, \r, \\, \xHH). */
void path_put_name(struct buf *b, struct slice name);

#endif
