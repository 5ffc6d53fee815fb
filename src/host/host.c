#include "host/host.h"

#include <signal.h>

#include "host/root.h"
#include "host/state_dir.h"
#include "bounds.h"

static size_t max_output = OUTPUT_DEFAULT;

int host_init(const struct host_config *cfg)
{
	int r;

	signal(SIGXFSZ, SIG_IGN); /* a file over the size limit is an error of that call */
	max_output = cfg->max_output;
	r = root_open(cfg->root);
	return r < 0 ? r : state_dir_setup(cfg->state_dir);
}

const char *host_root(void)
{
	return root_path();
}

size_t host_max_output(void)
{
	return max_output;
}

static const struct tool *const groups[] = { file_tools, terminal_tools, git_tools, workspace_tools,
	NULL };

const struct toolset host_toolset = { "host", groups };
