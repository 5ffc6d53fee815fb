/*
 * Copying and removing whole trees, for moves between file systems. It takes as long as it takes:
 * for workers only.
 */
#ifndef HOST_TREE_COPY_H
#define HOST_TREE_COPY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

struct tree_copy {
	struct buf *mem; /* room for extended attributes */
	char *chunk;     /* READ_CHUNK bytes */
	int stop;        /* reading end of a pipe: once the other end is closed copying gives up,
			    -ECANCELED */
	bool at_copy;    /* after an error: it arose at the copy, not at the source */
	dev_t dev;       /* of the copy's top directory, which must not be met in the source */
	ino_t ino;
};

/*
 * from/name and all below it, as to/as, which must not exist: bytes, holes, modes, times,
 * attributes, owner where allowed; links as links, FIFOs and devices as such; hard links become
 * files of their own. Synced. A directory that could not be emptied afterwards is an error now. 0,
 * -errno, -ECANCELED, -EINVAL: the copy lies within the source. After an error part of the copy may
 * be there.
 */
int tree_copy(struct tree_copy *c, int from, const char *name, int to, const char *as)
	__attribute__((warn_unused_result));
/* May entries of dir be made and removed? 0 or -errno. libc's faccessat would bring a process
 * along. */
int tree_changeable(int dir);
/* dir/name and all below it, as far as possible. 0 or the first -errno; what does not exist is
 * removed. */
int tree_remove(int dir, const char *name);
/* What is in the directory dir/name, likewise; the directory stays. */
int tree_empty(int dir, const char *name);

#endif
