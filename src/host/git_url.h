/*
 * What a repository's address says, read as git reads it, without a look at the disk: a path of
 * this machine, for which the path rule holds, or another host, reached by one of git's own
 * transports. Remote helpers ("ext::command") run whatever they are told to and are refused.
 */
#ifndef HOST_GIT_URL_H
#define HOST_GIT_URL_H

#include "base/slice.h"

enum git_place {
	GIT_PATH,     /* a path as it stands */
	GIT_FILE_URL, /* file:///path with percent escapes */
	GIT_HOST,     /* https://, ssh://, host:path and the like */
};

/* Reads it. NULL, or the rule that it breaks, as git_ref.h has them; *place is then not set. */
const char *git_url_rule(struct slice url, enum git_place *place);

/*
 * The path of a GIT_FILE_URL, escapes resolved, as a C string in mem; false when it does not fit or
 * holds NUL.
 */
bool git_url_path(struct slice url, char *mem, size_t size);

/*
 * The name of the directory git would clone into: the last part of the path without ".git". It may
 * hold anything but a slash; empty when there is none.
 */
struct slice git_url_name(struct slice url);

#endif
