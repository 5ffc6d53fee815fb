/*
 * The nine git tools: rows in git.c, the larger functions in files of their own with the arguments
 * they take.
 */
#ifndef HOST_GIT_TOOLS_H
#define HOST_GIT_TOOLS_H

#include "mcp/tool.h"

#define GIT_PATH_DESC                                                                              \
	"Directory in the repository, absolute or relative to the workspace root; default: the "   \
	"root"

extern const struct arg git_clone_args[], git_diff_args[];

enum step git_clone(struct job *j);
enum step git_diff(struct job *j);

#endif
