/*
 * A file of lines that only grows: what is added stands there whole or not at all, unless the
 * process ends in the middle of it.
 */
#ifndef HOST_LINE_FILE_H
#define HOST_LINE_FILE_H

#include <sys/types.h>

#include "base/slice.h"

struct line_file {
	int fd; /* O_APPEND, the owner's; -1: none */
	off_t size;
};

/* 0, or -errno and the file is as before. */
int line_file_add(struct line_file *f, struct slice lines) __attribute__((warn_unused_result));
/* Finds the size, and cuts off what stands behind the last newline. 0 or -errno. */
int line_file_trim(struct line_file *f) __attribute__((warn_unused_result));
void line_file_close(struct line_file *f);

#endif
