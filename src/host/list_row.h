/*
 * Rows in the form of `ls -l`, times in UTC. All rows of a listing are measured first, so that
 * columns line up.
 */
#ifndef HOST_LIST_ROW_H
#define HOST_LIST_ROW_H

#include <sys/stat.h>

#include "base/buf.h"
#include "host/owner_names.h"

struct row_form {
	struct owner_names owners;
	int64_t now; /* seconds since 1970: older files show the year instead of the time */
	size_t links, user, group, size; /* widths */
};

void row_measure(struct row_form *f, const struct stat *st);
/* Everything before the name, with a blank at the end. */
void row_put(struct row_form *f, struct buf *b, const struct stat *st);

#endif
