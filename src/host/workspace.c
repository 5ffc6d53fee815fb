/*
 * The tools about the workspace as a whole.
 */
#include <errno.h>
#include <limits.h>

#include "base/str.h"
#include "bounds.h"
#include "host/background.h"
#include "host/command.h"
#include "host/facts.h"
#include "host/host.h"
#include "host/workspace.h"

enum {
	INFO_TEXT_MAX = 16 * KIB + BACKGROUND_MAX * KIB / 2,
	VERSION_MAX = 1 * KIB, /* of what a program says about its version */
	VERSION_MS = 5 * 1000,
};

/* One workspace_info; lives in the job's memory. */
struct info {
	struct command command;
	struct buf text;
	const char *asked;   /* the program that was asked last */
	char path[PATH_MAX]; /* the program that was found last */
	int err;             /* why it was not asked, or 0 */
	bool installed;
	char mem[INFO_TEXT_MAX];
};

static void heading(struct info *s, const char *name)
{
	buf_printf(&s->text, "=== %s ===\n", name);
}

/* ---- asking programs for their version ---- */

/* Runs `program --version`, then next; next comes at once when it cannot be run. */
static enum step version_ask(struct job *j, const char *program, enum step (*next)(struct job *j))
{
	struct info *s = j->state;

	s->asked = program;
	s->err = child_find(program, s->path, sizeof(s->path));
	s->installed = s->err != -ENOENT; /* exec may say ENOENT as well, of an interpreter */
	if (s->err < 0)
		return next(j);
	command_program(&s->command, program);
	command_arg(&s->command, "--version");
	s->err = command_start(&s->command, VERSION_MS);
	return s->err < 0 ? next(j) : job_wait(j, next);
}

static void version_put(struct info *s)
{
	const struct child *c = &s->command.child;
	struct slice parts[3];

	if (!s->installed)
		buf_printf(&s->text, "%s not installed\n", s->asked);
	else if (s->err < 0)
		buf_printf(&s->text, "%s cannot be run: %s\n", s->asked, strerror(-s->err));
	else if (c->timed_out)
		buf_printf(&s->text, "%s does not answer\n", s->asked);
	else if (command_failed(&s->command))
		buf_printf(&s->text, "%s fails with exit code %d\n", s->asked, child_exit_code(c));
	else {
		capture_parts(&s->command.out, parts);
		buf_slice(&s->text, slice_head(str_trim(parts[0]), VERSION_MAX));
		buf_putc(&s->text, '\n');
	}
}

/* ---- the sections, in order ---- */

static void put_tools(struct info *s)
{
	static const char names[][8] = { "bun", "npm", "yarn", "pip3", "python3", "curl", "wget" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (child_find(names[i], s->path, sizeof(s->path)) == 0)
			buf_printf(&s->text, "%s\n", s->path);
}

/* The way to see all of them at once; a section that the reference does not have. */
static void put_background(struct info *s)
{
	if (!background_any())
		return;
	heading(s, "Background");
	background_put_list(&s->text);
}

static enum step info_rest(struct job *j)
{
	struct info *s = j->state;

	version_put(s);
	heading(s, "Disk");
	facts_disk(&s->text, host_root());
	heading(s, "CWD");
	buf_printf(&s->text, "%s\n", host_root());
	heading(s, "Tools");
	put_tools(s);
	heading(s, "Memory");
	facts_memory(&s->text);
	put_background(s);
	return tool_text(j, buf_all(&s->text));
}

static enum step info_git(struct job *j)
{
	struct info *s = j->state;

	version_put(s);
	heading(s, "Git");
	command_again(&s->command);
	return version_ask(j, "git", info_rest);
}

static enum step workspace_info(struct job *j)
{
	struct info *s = command_new(j, sizeof(*s));

	if (!s)
		return tool_fail(j, "no memory for the answer: the server's budget is used up");
	buf_over(&s->text, s->mem, sizeof(s->mem));
	heading(s, "OS");
	facts_os(&s->text);
	heading(s, "Node");
	return version_ask(j, "node", info_git);
}

// clang-format off
const struct tool workspace_tools[] = {
	{ "workspace_info", "Describe the workspace",
		"Operating system, versions of node and git, free disk and memory, the workspace root, which package managers "
		"and download tools there are, and the background processes with their state",
		NULL, TOOL_READS | TOOL_IDEMPOTENT | TOOL_SPAWNS, workspace_info },
	{ "workspace_install", "Install packages",
		"Install packages with a package manager of this machine, in the workspace root. dnf, apt, opkg and apk go through "
		"sudo where the server is not root; ended after 120 s. What needs options, such as pip install -r, is for "
		"terminal_exec",
		workspace_install_args, TOOL_DESTROYS | TOOL_OPEN | TOOL_SPAWNS, workspace_install },
	{ 0 },
};
// clang-format on
