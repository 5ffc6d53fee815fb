/*
 * The sandbox toolset: tools that are forwarded to a Sandstorm master. The server keeps no state of
 * sandboxes; the master owns them.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include "mcp/tool.h"

extern const struct toolset sandbox_toolset;

/* The row of that name in the set, served or not; NULL: there is none. */
const struct tool *sandbox_tool(struct slice name);

/* Bytes of text an answer may hold, in the measure of jobs_init. */
size_t sandbox_output(void);

extern const struct tool catalog_tools[]; /* sandboxes.c: list_templates, list_snapshots */
extern const struct tool spawn_tools[];   /* spawn.c */
extern const struct tool sandbox_tools[]; /* sandboxes.c: branch, touch, list_sandboxes, get */
extern const struct tool inside_tools[];  /* inside.c: exec_command, eval_code */
extern const struct tool wait_tools[];    /* wait.c */
extern const struct tool ping_tools[];    /* inside.c */
extern const struct tool ending_tools[];  /* sandboxes.c: kill_sandbox, delete_snapshot */

#endif
