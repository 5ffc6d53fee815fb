/*
 * The host toolset: files, terminal, workspace of the machine the server runs on, below one root
 * directory.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "mcp/tool.h"

struct host_config {
	const char *root;      /* as configured; links in it are followed once, at start */
	size_t max_output;     /* bytes of text a tool hands out per stream or file */
	const char *state_dir; /* as configured, NULL: below the root */
};

/*
 * Opens the root (made when missing, with parents). 0 or -errno; afterwards host_root() gives the
 * resolved path, and host/state_dir knows its own. To be called before tools_setup.
 */
int host_init(const struct host_config *cfg) __attribute__((warn_unused_result));
const char *host_root(void);
size_t host_max_output(void);

extern const struct tool file_tools[];      /* files_*.c */
extern const struct tool terminal_tools[];  /* terminal.c */
extern const struct tool git_tools[];       /* git.c */
extern const struct tool workspace_tools[]; /* workspace.c */
extern const struct toolset host_toolset;

#endif
