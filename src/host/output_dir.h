/*
 * The directory of output files, background/ in the state directory. Several servers may share it.
 */
#ifndef HOST_OUTPUT_DIR_H
#define HOST_OUTPUT_DIR_H

#include <sys/types.h>

#include "base/buf.h"

enum { OUTPUT_NAME = 40 };

/*
 * A descriptor of it, made when missing, the caller's own; -errno. Of the files whose processes
 * have ended the oldest are removed, so that there are BACKGROUND_FILES with the next one.
 */
int output_dir_open(void) __attribute__((warn_unused_result));
/* A name for the file of process pid, started now: in the order of time. */
void output_dir_name(char name[OUTPUT_NAME], pid_t pid);
void output_dir_put(struct buf *b, const char *name); /* the file's absolute path */

#endif
