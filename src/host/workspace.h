/*
 * The tools about the workspace as a whole: rows in workspace.c, each function in the file of its
 * subject.
 */
#ifndef HOST_WORKSPACE_H
#define HOST_WORKSPACE_H

#include "mcp/tool.h"

extern const struct arg workspace_install_args[];

enum step workspace_install(struct job *j); /* install.c */

#endif
