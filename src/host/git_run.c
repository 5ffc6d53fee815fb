#include "host/git_run.h"

#include <unistd.h>

#include "base/str.h"
#include "bounds.h"
#include "host/host.h"
#include "host/root.h"

// clang-format off
/* A repository is found by where git runs, never by what the server was started with. */
static const char *const environment[] = {
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=", /* empty: none, not even one that the configuration names */
	"SSH_ASKPASS=",
	"SSH_ASKPASS_REQUIRE=never",
	"GCM_INTERACTIVE=never",
	"GIT_EDITOR=true",
	"GIT_SEQUENCE_EDITOR=true",
	"GIT_MERGE_AUTOEDIT=no",
	"GIT_PAGER=cat",
	"LANGUAGE=en", /* texts alone: names and hooks keep the locale they have */
};

/* What a configuration may say otherwise; color.push and the like win over color.ui. */
static const char *const settings[] = {
	"core.quotepath=off",
	"color.ui=never", "color.advice=never", "color.branch=never", "color.diff=never",
	"color.push=never", "color.remote=never", "color.status=never", "color.transport=never",
	"column.ui=never", "column.branch=never", "column.status=never",
};
// clang-format on

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static void add_env(struct git *g, const char *variable)
{
	g->env[g->env_n++] = variable;
	g->env[g->env_n] = NULL;
}

/* The variable with dir, and behind it what it holds already; NULL when there is no memory. */
static const char *ceiling_text(struct job *j, struct slice dir, const char *old)
{
	const char *name = "GIT_CEILING_DIRECTORIES=";
	size_t size = strlen(name) + dir.n + 1 + strlen(old) + 1;
	char *mem = buf_alloc(&j->mem, size);
	struct buf b;

	if (!mem)
		return NULL;
	buf_over(&b, mem, size);
	buf_puts(&b, name);
	buf_slice(&b, dir);
	if (old[0])
		buf_putc(&b, ':');
	buf_put(&b, old, strlen(old) + 1);
	return mem;
}

/* git looks for a repository upwards, but not above the root. False when there is no memory. */
static bool add_ceiling(struct git *g)
{
	struct slice root = slice_of(host_root());
	const char *old = child_variable("GIT_CEILING_DIRECTORIES"), *text;
	char mem[48];
	struct buf way;

	if (root.n == 1)
		return true;
	root.n = (size_t)(strrchr(root.p, '/') - root.p);
	if (root.n == 0)
		root.n = 1;
	if (str_has(root, ':')) { /* would part the list; git resolves this way to the same place */
		buf_over(&way, mem, sizeof(mem));
		buf_printf(&way, "/proc/%d/fd/%d/..", (int)getpid(), root_fd());
		root = buf_all(&way);
	}
	text = ceiling_text(g->command.job, root, old ? old : "");
	if (text)
		add_env(g, text);
	return text != NULL;
}

struct git *git_new(struct job *j, size_t size)
{
	struct git *g = command_new(j, size);

	if (!g || !add_ceiling(g))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(environment); i++)
		add_env(g, environment[i]);
	g->command.env = g->env;
	g->command.hide_secrets = true;
	return g;
}

struct git *git_open(struct job *j, size_t size, struct slice path)
{
	struct git *g = git_new(j, size);

	if (!g) {
		tool_fail(j, "no memory for the command: the server's budget is used up");
		return NULL;
	}
	g->command.cwd = path_open_dir(&g->place, path, false);
	if (g->command.cwd >= 0)
		return g;
	path_fail(j, &g->place, path, g->command.cwd);
	return NULL;
}

void git_words(struct git *g, const char *words)
{
	struct command *c = &g->command;
	struct slice rest = slice_of(words);

	command_program(c, "git");
	command_arg(c, "--no-pager");
	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		command_arg(c, "-c");
		command_arg(c, settings[i]);
	}
	while (rest.n > 0)
		command_arg_slice(c, str_split(&rest, ' '));
}

void git_progress(struct git *g)
{
	if (!tool_wants_progress(g->command.job))
		return;
	command_arg(&g->command, "--progress");
	g->command.erases = true;
}

/* ---- ssh ---- */

static enum step ssh_known(struct job *j)
{
	struct git *g = j->state;

	if (g->command.out.total == 0)
		add_env(g, "GIT_SSH_COMMAND=ssh -oBatchMode=yes");
	command_again(&g->command);
	return g->next(j);
}

enum step git_before_ssh(struct job *j, enum step (*next)(struct job *j))
{
	struct git *g = j->state;

	if (child_variable("GIT_SSH_COMMAND") || child_variable("GIT_SSH"))
		return next(j);
	g->next = next;
	git_words(g, "config --get core.sshCommand");
	return command_run(&g->command, GIT_CONFIG_MS, ssh_known);
}

enum step git_refuse(struct job *j, int which, const char *rule)
{
	return tool_fail(j, "Invalid arguments for %s: %s: %s", j->tool->name,
		j->tool->args[which].name, rule);
}
