/*
 * What a file has besides its bytes, carried from one file to another; and small helpers of the
 * file tools.
 */
#ifndef HOST_FILE_META_H
#define HOST_FILE_META_H

#include <sys/stat.h>

#include "base/buf.h"

enum { /* what meta_copy carries besides owner, permission bits and extended attributes */
	META_TIMES = 1,
	META_SET_ID = 2, /* set-user-id and set-group-id, when the owner could be kept */
};

/*
 * From the file open at `from`, whose status st is, to the one open at `to`. What the system does
 * not allow us to carry (owner, attributes) is left out; group permissions are cut to those of
 * others when the group is. mem: room for attributes, given back. 0 or -errno when not even the
 * permission bits could be set.
 */
int meta_copy(int from, const struct stat *st, int to, unsigned how, struct buf *mem)
	__attribute__((warn_unused_result));

enum { FILE_TMP_NAME = 32 };
/* A name for a temporary file that nobody else uses: ".sandstorm-<16 hex digits>.tmp". */
void file_tmp_name(char name[FILE_TMP_NAME]);

#endif
