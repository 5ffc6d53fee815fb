/*
 * Names of a directory, straight from the kernel: opendir would allocate.
 */
#ifndef HOST_DIR_READ_H
#define HOST_DIR_READ_H

#include "base/slice.h"

struct dir_read {
	int fd;    /* the owner's */
	char *mem; /* the owner's, aligned for 8 bytes */
	size_t size, len, at;
};

struct dir_entry {
	const char *name;   /* good until the next call */
	unsigned char type; /* DT_DIR ...; DT_UNKNOWN where the file system does not tell */
};

/* A descriptor for reading directory dir/name, never through a link; or -errno. */
int dir_open(int dir, const char *name);
/* From the first entry. size: at least 1 KiB. */
void dir_start(struct dir_read *d, int fd, void *mem, size_t size);
/* 1 and the next entry, "." and ".." left out; 0 at the end; -errno. */
int dir_next(struct dir_read *d, struct dir_entry *e) __attribute__((warn_unused_result));

#endif
