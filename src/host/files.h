/*
 * The six file tools: rows in files.c, each function in the file of its subject with the arguments
 * it takes.
 */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include "mcp/tool.h"

extern const struct arg file_read_args[], file_write_args[], file_list_args[], file_move_args[];

enum step file_read(struct job *j);
enum step file_write(struct job *j);
enum step file_list(struct job *j);
enum step file_move(struct job *j);

#endif
