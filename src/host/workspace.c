/*
 * The tools about the workspace as a whole.
 */
#include <errno.h>
#include <limits.h>

#include "base/str.h"
#include "bounds.h"
#include "host/facts.h"
#include "host/host.h"
#include "loop/child.h"

enum {
	INFO_TEXT_MAX = 16 * KIB,
	VERSION_MAX = 1 * KIB, /* of what a program says about its version */
	VERSION_MS = 5 * 1000,
};

/* One workspace_info; lives in the job's memory. */
struct info {
	struct job *job;
	struct buf text;
	struct child child;
	struct capture said;
	const char *argv[3]; /* the program that was asked last */
	char path[PATH_MAX];
	bool installed;
	int err; /* why it could not be asked, or 0 */
	char mem[INFO_TEXT_MAX];
};

static void heading(struct info *s, const char *name)
{
	buf_printf(&s->text, "=== %s ===\n", name);
}

/* ---- asking programs for their version ---- */

static void version_said(struct child *c)
{
	job_wake(container_of(c, struct info, child)->job);
}

static void version_cancel(struct job *j)
{
	struct info *s = j->state;

	child_end(&s->child);
}

/* Runs `program --version`, then next; next comes at once when it cannot be run. */
static enum step version_ask(struct job *j, const char *program, enum step (*next)(struct job *j))
{
	struct info *s = j->state;

	s->argv[0] = program;
	s->argv[1] = "--version";
	s->child = (struct child){
		.path = s->path,
		.argv = s->argv,
		.cwd = -1,
		.limit_ms = VERSION_MS,
		.out = &s->said,
		.done = version_said,
	};
	s->err = child_find(program, s->path, sizeof(s->path));
	s->installed = s->err != -ENOENT;
	if (s->err == 0)
		s->err = capture_open(&s->said, VERSION_MAX);
	if (s->err == 0)
		s->err = child_start(&s->child);
	if (s->err < 0)
		return next(j);
	j->cancel = version_cancel;
	return job_wait(j, next);
}

static void version_put(struct info *s)
{
	struct slice parts[3];

	if (!s->installed)
		buf_printf(&s->text, "%s not installed\n", s->argv[0]);
	else if (s->err < 0)
		buf_printf(&s->text, "%s cannot be run: %s\n", s->argv[0], strerror(-s->err));
	else if (s->child.timed_out)
		buf_printf(&s->text, "%s does not answer\n", s->argv[0]);
	else if (s->child.status != 0)
		buf_printf(&s->text, "%s fails with exit code %d\n", s->argv[0],
			child_exit_code(&s->child));
	else {
		capture_parts(&s->said, parts);
		buf_slice(&s->text, str_trim(parts[0]));
		buf_putc(&s->text, '\n');
	}
	capture_close(&s->said);
}

/* ---- the sections, in order ---- */

static void put_tools(struct info *s)
{
	static const char names[][8] = { "bun", "npm", "yarn", "pip3", "python3", "curl", "wget" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (child_find(names[i], s->path, sizeof(s->path)) == 0)
			buf_printf(&s->text, "%s\n", s->path);
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
	return tool_text(j, buf_all(&s->text));
}

static enum step info_git(struct job *j)
{
	struct info *s = j->state;

	version_put(s);
	heading(s, "Git");
	return version_ask(j, "git", info_rest);
}

static void info_cleanup(struct job *j)
{
	struct info *s = j->state;

	capture_close(&s->said);
}

static enum step workspace_info(struct job *j)
{
	struct info *s = job_state(j, sizeof(*s));

	if (!s)
		return tool_fail(j, "no memory for the answer: the server's budget is used up");
	s->job = j;
	buf_over(&s->text, s->mem, sizeof(s->mem));
	j->cleanup = info_cleanup;
	heading(s, "OS");
	facts_os(&s->text);
	heading(s, "Node");
	return version_ask(j, "node", info_git);
}

// clang-format off
const struct tool workspace_tools[] = {
	{ "workspace_info", "Describe the workspace",
		"Operating system, versions of node and git, free disk and memory, the workspace root, and which package "
		"managers and download tools there are",
		NULL, TOOL_READS | TOOL_IDEMPOTENT | TOOL_SPAWNS, workspace_info },
	{ 0 },
};
// clang-format on
