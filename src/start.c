#include "start.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "base/str.h"
#include "boot/boot.h"
#include "boot/net.h"
#include "bounds.h"
#include "environment.h"
#include "host/background.h"
#include "host/host.h"
#include "http/https_url.h"
#include "loop/child.h"
#include "machine.h"
#include "mcp/methods.h"
#include "mcp/tool.h"
#include "proxy/proxy.h"
#include "upstream.h"

/* After the grace: commands get TERM, KILL a second later, then what runs in the background;
 * sandboxes that nobody knows of are deleted, for 2 s. */
enum { STOP_MARGIN_MS = 2500 };

static const struct transport *transport;
static int64_t stop_grace_ms;
static int ended_by; /* INT, TERM or 0 */

int start_config(struct config *c, int argc, char **argv, int most, int *words)
{
	int r = config_load(c, argc, argv, most, words);

	upstream_take_token();
	env_scrub(c->scrub, config_is_ours);
	return r;
}

int start_tools(const struct config *c, const char *dflt)
{
	const struct toolset sets[] = { sandbox_toolset, host_toolset, { 0 } };
	struct slice bad;

	if (tools_choose(sets, c->tools ? c->tools : dflt, c->read_only, &bad) < 0)
		return complain(2,
			"SANDSTORM_TOOLS: %.*s is no toolset or tool here; see sandstorm-mcp tools",
			SLICE(bad));
	if (!tool_next(NULL))
		return complain(2, "SANDSTORM_TOOLS leaves no tool to serve");
	return 0;
}

static bool serves(const char *prefix)
{
	const struct tool *t = tool_next(NULL);

	while (t && !str_starts(slice_of(t->name), prefix))
		t = tool_next(t);
	return t != NULL;
}

static bool lacks_shell(void)
{
	return serves("terminal_exec") && !command_has_shell();
}

static bool lacks_git(void)
{
	char mem[PATH_MAX];

	return serves("git_") && child_find("git", mem, sizeof(mem)) == -ENOENT;
}

void start_say_missing(void)
{
	if (lacks_shell())
		log_event(LOG_WARN, "no shell here: the terminal tools cannot run commands", NULL);
	if (lacks_git())
		log_event(LOG_WARN, "git is not installed here: the git tools cannot work", NULL);
}

/* --- what each toolset needs --- */

/* Where both are served, each takes of SANDSTORM_MAX_OUTPUT what it can. */
static size_t host_output(const struct config *c)
{
	if (!c->max_output)
		return OUTPUT_DEFAULT;
	return c->max_output > OUTPUT_MIN ? (size_t)c->max_output : OUTPUT_MIN;
}

static int set_up_host(const struct config *c)
{
	struct host_config host = { c->root, host_output(c), c->state_dir };
	int r;

	if (c->max_output && c->max_output < OUTPUT_MIN && !tools_include(&sandbox_toolset))
		return complain(
			2, "SANDSTORM_MAX_OUTPUT is at least %d for the host tools", OUTPUT_MIN);
	r = host_init(&host);
	if (r < 0)
		return complain(
			2, "cannot use SANDSTORM_WORKSPACE_ROOT %s: %s", c->root, strerror(-r));
	tools_setup(host_root(), c->structured);
	return 0;
}

static int set_up_sandbox(const struct config *c)
{
	if (c->max_output > SANDBOX_OUTPUT_MAX && !tools_include(&host_toolset))
		return complain(2, "SANDSTORM_MAX_OUTPUT is at most %d for the sandbox tools",
			SANDBOX_OUTPUT_MAX);
	return upstream_load(c);
}

static void put_host(struct buf *b)
{
	struct utsname u;

	buf_printf(b,
		"%s of the machine %s. Paths are relative to %s, and files outside of it cannot be "
		"reached; commands run with the rights of the server.",
		lacks_shell() ? "Files" : "Files and shell",
		uname(&u) ? "this server runs on" : u.nodename, host_root());
	if (lacks_shell())
		buf_puts(b, " There is no shell on this machine: commands cannot be run.");
	if (lacks_git())
		buf_puts(b, " git is not installed on this machine: the git tools cannot work.");
}

static const char *make_instructions(void)
{
	static char mem[PATH_MAX + 2 * KIB];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (tools_include(&sandbox_toolset)) {
		buf_puts(&b, "Sandboxes of the Sandstorm master at ");
		http_origin_put(upstream_origin(), &b);
		buf_puts(&b, ". spawn_sandboxes tells the id and the token of each new one; keep "
			     "both until kill_sandbox. ");
	}
	if (tools_include(&host_toolset))
		put_host(&b);
	buf_putc(&b, '\0');
	return mem;
}

static int set_up_tools(const struct config *c, const char *tools)
{
	int r = start_tools(c, tools);

	if (r == 0 && tools_include(&host_toolset))
		r = set_up_host(c);
	if (r == 0 && tools_include(&sandbox_toolset))
		r = set_up_sandbox(c);
	if (r == 0)
		methods_setup(make_instructions());
	return r;
}

/* Bytes of text an answer may hold, of whichever tools are served. */
static size_t output_of(const struct config *c)
{
	size_t n = 0;

	if (tools_include(&host_toolset)) /* with structured results the text stands twice */
		n = host_output(c) * (c->structured ? 2 : 1);
	if (tools_include(&sandbox_toolset) && n < sandbox_output())
		n = sandbox_output();
	return n;
}

/* --- the loop --- */

static void stop_at_once(struct timer *t)
{
	(void)t;
	child_end_all();
	loop_stop(0);
}

static void stop_in_order(void)
{
	static struct timer last = { .fire = stop_at_once };

	if (last.set)
		return;
	timer_set(&last, stop_grace_ms + STOP_MARGIN_MS);
	transport->stop(stop_grace_ms);
}

/*
 * TERM and INT end in order, a second one at once (decision 29). A HUP that ends never counts as
 * one of the two: it comes along with TERM when a session or a service ends.
 */
static void signalled(int sig)
{
	static bool asked;

	if (sig == SIGHUP && transport->hang_up) {
		transport->hang_up();
	} else if (sig != SIGHUP && asked) {
		stop_at_once(NULL);
	} else {
		asked = asked || sig != SIGHUP;
		ended_by = sig;
		stop_in_order();
	}
}

static int set_up_loop(const struct config *c)
{
	int r = loop_init();

	if (r == 0)
		r = proc_init();
	if (r == 0)
		r = signals_init(signalled);
	if (r == 0)
		r = jobs_init(output_of(c));
	return r < 0 ? complain(1, "cannot start: %s", strerror(-r)) : 0;
}

/* --- as process 1 --- */

/* Elsewhere the variable may be there because we run in the environment of such a server. */
static int set_up_network(const char *ip)
{
	struct net n;
	const char *wrong = ip ? net_parse(slice_of(ip), &n) : NULL;

	if (wrong)
		return complain(2, "SANDSTORM_IP: \"%s\" %s; it is ADDRESS/LENGTH[,GATEWAY[,DNS]]",
			ip, wrong);
	if (ip && boot_is_first())
		net_up(&n);
	else if (ip)
		log_event(LOG_WARN, "SANDSTORM_IP is ignored: only process 1 sets up a network",
			NULL);
	return 0;
}

int start_up(const struct config *c, const char *tools, const struct transport *t)
{
	int r;

	transport = t;
	stop_grace_ms = c->stop_grace_ms;
	log_setup((enum log_level)c->log_level, c->log_json < 0 ? t->log_json : c->log_json);
	boot_begin();
	mem_set_budget(c->memory ? (size_t)c->memory : machine_budget());
	child_environment(env_list());
	r = set_up_tools(c, tools);
	if (r == 0)
		r = set_up_loop(c);
	return r ? r : set_up_network(c->ip);
}

int start_run(void)
{
	int status = loop_run();

	background_stop();
	child_end_all();
	if (status == 0) /* after a failure a kernel shall show it, and do what its panic= says */
		boot_end(ended_by == SIGINT);
	return status;
}
