/*
 * Small files of our own: configuration, secrets, state. Blocking, by path; the files of clients
 * are host/'s.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/*
 * The whole file behind what b holds. 0 or -errno; -E2BIG when it does not fit. Also from a pipe;
 * one that stays silent for seconds is -ETIMEDOUT.
 */
int read_file(const char *path, struct buf *b) __attribute__((warn_unused_result));
/* All of text in a new file, or no file. 0 or -errno (-EEXIST). */
int create_file(const char *path, mode_t mode, struct slice text)
	__attribute__((warn_unused_result));
/*
 * text instead of what path held: whoever reads it, and whatever happens meanwhile, finds the one
 * or the other whole. Its owner stays, where we may give a file away, and so does a group that
 * alone may read it besides. A link is not followed but replaced; what is neither a file nor a link
 * is left alone, -EMEDIUMTYPE. 0 or -errno.
 */
int replace_file(const char *path, mode_t mode, struct slice text)
	__attribute__((warn_unused_result));

/* What such an error means, in words. */
const char *file_error(int r);

struct new_file {
	const char *path;
	mode_t mode;
	struct slice text;
};

/* The same for two files that go together: both are written before one is replaced. */
int replace_pair(const struct new_file *first, const struct new_file *second)
	__attribute__((warn_unused_result));

/*
 * To the disk: one file or directory, and the file system that dir lies on. 0 or -errno; where
 * there is nothing to sync, and the file system says so, that is 0.
 */
int sync_fd(int fd) __attribute__((warn_unused_result));
int sync_all(int dir) __attribute__((warn_unused_result));

int write_all(int fd, struct slice s) __attribute__((warn_unused_result)); /* 0 or -errno */
/* Closes *fd unless it is -1, and makes it -1. errno stays as it is. */
void file_close(int *fd);

#endif
