/*
 * The recursive listing: one full path a line, sorted, depth first, LIST_DEPTH levels, LIST_MAX
 * lines.
 */
#ifndef HOST_LIST_TREE_H
#define HOST_LIST_TREE_H

#include "mcp/tool.h"

enum step list_tree(struct job *j, struct slice path);

#endif
