/*
 * The calls of the sessions API that wait; rows of the table in session_api.c.
 */
#ifndef FRONT_SESSION_CALLS_H
#define FRONT_SESSION_CALLS_H

#include "mcp/job.h"

enum step session_create(struct job *j);
enum step session_exec(struct job *j);
enum step session_extend_call(struct job *j);
enum step session_delete(struct job *j);

#endif
