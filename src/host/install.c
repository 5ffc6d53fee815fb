/*
 * workspace_install: packages by the manager of the workspace or of the system, without a shell.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"
#include "host/command_text.h"
#include "host/install_managers.h"
#include "host/path.h"
#include "host/workspace.h"

enum { A_PACKAGES, A_MANAGER };

// clang-format off
const struct arg workspace_install_args[] = {
	[A_PACKAGES] = { "packages", ARG_STR, ARG_REQUIRED, "Packages with blanks between them, each as the manager takes it: name, name@^1.2, name>=1.0, URL, ./file", NULL, NULL },
	[A_MANAGER] = { "manager", ARG_STR, ARG_NULL, "Package manager; default, or auto: the first of bun, npm, opkg, apk that is installed", NULL, INSTALL_MANAGERS },
	{ 0 },
};
// clang-format on

/* One workspace_install; lives in the job's memory. */
struct install {
	struct command command;
	const struct install_manager *manager;
	const struct install_way *way;
	bool sudo;
	bool set_env; /* by sudo */
};

/* ---- which manager ---- */

static bool find_auto(struct install *s)
{
	struct slice names = LIT(INSTALL_AUTO);

	while (names.n > 0 && !s->way) {
		s->manager = install_manager(str_split(&names, '|'));
		s->way = install_way(s->manager);
	}
	return s->way;
}

/* False: the call is answered. */
static bool find_manager(struct job *j, struct install *s)
{
	struct slice name = arg_given(j, A_MANAGER) ? arg_str(j, A_MANAGER) : LIT("auto");

	if (slice_is(name, "auto")) {
		if (!find_auto(s))
			tool_fail(j, "No package manager found: looked for bun, npm, opkg and apk; "
				     "others have to be named");
		return s->way;
	}
	s->manager = install_manager(name);
	s->way = install_way(s->manager);
	if (!s->way)
		tool_fail(j, "%.*s is not installed here", SLICE(name));
	return s->way;
}

/* sudo keeps none of our variables; those on its command line it sets where the rules allow it. */
static void put_sudo(struct install *s)
{
	command_program(&s->command, "sudo");
	command_arg(&s->command, "-n"); /* nobody is there to type a password */
	for (const char *const *v = s->manager->env; s->set_env && *v; v++)
		command_arg(&s->command, *v);
}

static void put_program(struct install *s)
{
	const char *const *word = s->way->words;

	if (s->sudo)
		put_sudo(s);
	else
		command_program(&s->command, *word++);
	while (*word)
		command_arg(&s->command, *word++);
	s->command.env = s->manager->env;
}

static bool sudo_is_here(struct job *j, const struct install *s)
{
	char path[PATH_MAX];

	if (!s->sudo || child_find("sudo", path, sizeof(path)) == 0)
		return true;
	tool_fail(j, "%s needs root: this server runs as uid %u, and sudo is not installed here",
		s->manager->name, (unsigned)geteuid());
	return false;
}

/* ---- the packages; each function gives false when the call is answered ---- */

static bool refused(struct job *j, struct slice word, const struct install_refusal *why)
{
	word = slice_head(word, NAME_SHOWN_MAX);
	if (why->bad.n > 0)
		tool_fail(j, "Invalid arguments for %s: packages: %.*s: %s \"%.*s\"", j->tool->name,
			SLICE(word), why->rule, SLICE(why->bad));
	else
		tool_fail(j, "Invalid arguments for %s: packages: %.*s: %s", j->tool->name,
			SLICE(word), why->rule);
	return false;
}

/* A path is given to the manager as it was looked at: absolute, without "..". */
static bool put_path(struct job *j, struct install *s, const struct install_word *is)
{
	char mem[2 * PATH_MAX];
	struct place p;
	struct stat st;
	struct buf b;
	int r = path_find(&p, is->path, PATH_FOLLOW);

	if (r == 0 && fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	place_close(&p);
	if (r < 0) {
		path_fail(j, &p, is->path, r);
		return false;
	}
	buf_over(&b, mem, sizeof(mem));
	buf_puts(&b, p.shown);
	buf_slice(&b, is->extras);
	command_arg_slice(&s->command, buf_all(&b));
	return true;
}

static bool put_package(struct job *j, struct install *s, struct slice word)
{
	struct install_refusal why = { "must not be longer than a path", { 0 } };
	struct install_word is;

	if (word.n >= PATH_MAX || !install_word(s->manager->world, word, &is, &why))
		return refused(j, word, &why);
	if (is.kind == INSTALL_PATH)
		return put_path(j, s, &is);
	command_arg_slice(&s->command, word);
	return true;
}

static bool put_packages(struct job *j, struct install *s)
{
	struct slice rest = arg_str(j, A_PACKAGES), word;
	int n = 0;

	while ((word = str_word(&rest)).n > 0 && n++ < PACKAGES_MAX)
		if (!put_package(j, s, word))
			return false;
	if (word.n > 0)
		tool_fail(j, "Invalid arguments for %s: packages: at most %d at once",
			j->tool->name, PACKAGES_MAX);
	return word.n == 0;
}

/* ---- the answer ---- */

/* Did sudo refuse, so that the manager never had its turn? Then the last word is sudo's. */
static bool sudo_refused(struct install *s)
{
	struct slice last = capture_last_line(&s->command.err);

	return s->sudo && (str_starts(last, "sudo") || str_starts(last, "Sorry, "));
}

/* What to do about it. */
static enum step failure_note(struct job *j, struct install *s)
{
	static const char late[] = "%s runs as root by sudo, where only TERM reaches it: it may "
				   "still be at work";
	static const char refused[] = "%s needs root: run this server as root, or let uid %u run "
				      "%s by sudo without a password";
	const struct install_manager *m = s->manager;

	if (s->command.child.timed_out)
		return s->sudo ? tool_note(j, late, m->name) : STEP_DONE;
	if (sudo_refused(s))
		return tool_note(j, refused, m->name, (unsigned)geteuid(), s->way->words[0]);
	if (m->refresh)
		return tool_note(j, "if a package is not known: `%s` fetches the lists of packages",
			m->refresh);
	return STEP_DONE;
}

static enum step install_run(struct job *j, struct install *s);

static enum step install_answer(struct job *j)
{
	struct install *s = j->state;

	if (command_failed(&s->command) && s->set_env && sudo_refused(s)) {
		s->set_env = false; /* it may allow the manager, but no variables */
		command_again(&s->command);
		return install_run(j, s);
	}
	command_text(j, TEXT_BOTH);
	return command_failed(&s->command) ? failure_note(j, s) : STEP_DONE;
}

static enum step install_run(struct job *j, struct install *s)
{
	put_program(s);
	if (!put_packages(j, s) || !sudo_is_here(j, s))
		return STEP_DONE;
	return command_run(&s->command, INSTALL_MS, install_answer);
}

enum step workspace_install(struct job *j)
{
	struct install *s = command_new(j, sizeof(*s));
	struct place p;

	if (str_trim(arg_str(j, A_PACKAGES)).n == 0)
		return tool_fail(
			j, "Invalid arguments for %s: packages: must name one", j->tool->name);
	if (!s)
		return tool_fail(j, "no memory for the command: the server's budget is used up");
	s->command.hide_secrets = true;
	if (!find_manager(j, s))
		return STEP_DONE;
	s->sudo = s->manager->root && geteuid() != 0;
	s->set_env = s->sudo && s->manager->env;
	s->command.cwd = path_open_dir(&p, (struct slice){ 0 }, true);
	if (s->command.cwd < 0)
		return path_fail(j, &p, (struct slice){ 0 }, s->command.cwd);
	return install_run(j, s);
}
