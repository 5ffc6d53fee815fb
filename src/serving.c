#include "serving.h"

#include <errno.h>
#include <sys/resource.h>

#include "activation.h"
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "environment.h"
#include "front/acme.h"
#include "front/auth.h"
#include "front/oauth_token.h"
#include "front/serve.h"
#include "front/stdio.h"
#include "host/host.h"
#include "host/state_dir.h"
#include "loop/child.h"
#include "machine.h"
#include "secrets.h"
#include "serving_tls.h"
#include "start.h"
#include "upstream.h"

static struct config cfg;
static struct activation given;

/* --- stdio --- */

static int serve_stdio(const char *tools)
{
	static const struct transport stdio = { .stop = stdio_stop };
	int r = start_up(&cfg, tools, &stdio);

	if (r)
		return r;
	start_say_missing();
	r = stdio_start();
	if (r < 0)
		return complain(1, "cannot serve on standard input and output: %s", strerror(-r));
	r = start_run();
	stdio_restore();
	return r;
}

int cmd_stdio(int argc, char **argv)
{
	int words, r = start_config(&cfg, argc, argv, 0, &words);

	return r ? r : serve_stdio("sandbox");
}

/* --- the tokens --- */

static struct secret mcp_token, session_token;

static const char *unreadable(int err)
{
	return err == -E2BIG ? "it is too large" : strerror(-err);
}

/* 1, 0 when none is set, or -2 after a complaint. */
static int secret_take(struct secret *s, const char *const *names)
{
	int r = secret_load(s, names);

	if (r < 0)
		complain(2, "cannot read the token from %s_FILE %s: %s", s->name, s->path,
			unreadable(r));
	else if (r > 0 && s->n < TOKEN_MIN)
		complain(2,
			"%s%s%s: the token has %zu bytes, at least %d are needed; make one with: "
			"sandstorm-mcp token",
			s->name, s->path[0] ? "_FILE " : "", s->path, s->n, TOKEN_MIN);
	else
		return r;
	return -2;
}

static int tokens_load(void)
{
	static const char *const session[] = { "SESSION_AUTH_TOKEN", NULL };
	int r = secret_take(&mcp_token, secret_mcp);

	if (r == 0)
		complain(2, "serve needs a token in SANDSTORM_MCP_TOKEN (or MCP_AUTH_TOKEN, "
			    "or a file named by "
			    "SANDSTORM_MCP_TOKEN_FILE); make one with: sandstorm-mcp token");
	if (r <= 0 || secret_take(&session_token, session) < 0)
		return 2;
	auth_set_token(secret_text(&mcp_token));
	auth_set_session_token(secret_text(&session_token));
	return 0;
}

/* HUP: a rotated token takes effect; one that cannot be used does not. */
static void secret_renew(struct secret *s)
{
	struct log_field fields[] = { { "variable", slice_of(s->name) }, { 0 }, { 0 } };
	static struct secret old;
	int r;

	old = *s;
	r = secret_reread(s);
	if (r > 0 && s->n >= TOKEN_MIN) {
		log_event(LOG_INFO, "token reread", fields);
		return;
	}
	if (r)
		fields[1] = (struct log_field){ "why",
			slice_of(r < 0 ? unreadable(r) : "the token is too short") };
	log_event(LOG_WARN,
		r ? "token file not usable, the old token stays" : "no token file to reread",
		fields);
	*s = old;
}

static void tokens_reread(void)
{
	secret_renew(&mcp_token);
	auth_set_token(secret_text(&mcp_token));
	if (session_token.path[0])
		secret_renew(&session_token);
	auth_set_session_token(secret_text(&session_token));
}

/* HUP. A server that has no file for its token may have been told of its certificate alone. */
static void reread(void)
{
	if (serving_tls(&cfg))
		serving_tls_reread();
	if (!serving_tls(&cfg) || mcp_token.path[0] || session_token.path[0])
		tokens_reread();
}

/* --- HTTP --- */

static int serve_failed(int r, unsigned port)
{
	const char *other = port == cfg.acme_port && port != cfg.port ? "SANDSTORM_ACME_PORT"
								      : "SANDSTORM_MCP_PORT";

	if (r == -EINVAL)
		return complain(2,
			"SANDSTORM_MCP_HOST: \"%s\" is not an address; use a number such as "
			"127.0.0.1, 0.0.0.0 "
			"or ::1, or localhost",
			cfg.host);
	if (r == -EADDRINUSE)
		return complain(1, "port %u on %s is taken%s; choose another with %s", port,
			cfg.host, port == 8080 ? ", perhaps by a Sandstorm master" : "", other);
	if (r == -EACCES)
		return complain(1,
			"port %u needs more rights than this user has; choose one above 1023 with "
			"%s",
			port, other);
	return complain(1, "cannot serve on %s port %u: %s", cfg.host, port, strerror(-r));
}

static int origin_load(const struct origin_config *c)
{
	struct slice bad;

	if (origin_setup(c, &bad) < 0)
		return complain(2,
			"%.*s is not a usable value for SANDSTORM_PUBLIC_URL, SANDSTORM_DOMAIN, "
			"SANDSTORM_ALLOWED_ORIGINS, SANDSTORM_ALLOWED_HOSTS or "
			"SANDSTORM_TRUSTED_PROXIES",
			SLICE(bad));
	return 0;
}

/*
 * Connections need descriptors; commands get the limit that we were started with. Gives how many
 * connections there is room for.
 */
static unsigned connections_allowed(unsigned wanted)
{
	struct log_field fields[] = { { "connections" }, { 0 } };
	struct rlimit limit, raised;
	rlim_t need = wanted + DESCRIPTORS_KEPT;

	if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) < 0)
		return wanted;
	child_descriptors(&limit);
	raised = limit;
	raised.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	if (limit.rlim_cur >= need ||
		(prlimit(0, RLIMIT_NOFILE, &raised, NULL) == 0 && raised.rlim_cur >= need))
		return wanted;
	prlimit(0, RLIMIT_NOFILE, NULL, &limit);
	wanted = limit.rlim_cur > DESCRIPTORS_KEPT + CONNS_MIN
			 ? (unsigned)limit.rlim_cur - DESCRIPTORS_KEPT
			 : CONNS_MIN;
	fields[0].number = wanted;
	log_event(
		LOG_WARN, "fewer connections than asked for: the descriptor limit is low", fields);
	return wanted;
}

/*
 * A state directory that cannot be used is no reason to stop, but to say so. It is only looked at:
 * nothing is made before there is something to keep.
 */
static bool state_check(void)
{
	int r = state_dir_check();

	if (r < 0)
		state_dir_complain(r);
	return r == 0;
}

/* Without the host tools there is no root, and so no place but the one that was named. */
static bool state_usable(void)
{
	if (!tools_include(&host_toolset) && (!cfg.state_dir || state_dir_setup(cfg.state_dir) < 0))
		return false;
	return state_check();
}

/* Sign-ins of OAuth clients; without a place for them they last as long as an access token. */
static void sign_ins_load(bool can_keep)
{
	static char path[PATH_MAX];
	struct log_field fields[] = { { "file", slice_of(path) }, { "error" }, { 0 } };
	int r = str_printf(path, sizeof(path), "%s/sign-ins", state_dir_path());

	r = oauth_families_load(can_keep && r == 0 ? path : NULL);
	if (r == 0)
		return;
	fields[0].text = slice_of(path);
	fields[1].text = slice_of(strerror(-r));
	log_event(LOG_WARN, "sign-ins cannot be read: clients have to sign in again", fields);
}

/* The sockets that we were started with, if any, are where we are. */
static int sockets_load(void)
{
	int r = activation_load(&given);

	if (given.sockets) {
		cfg.host = given.socket[0].host;
		cfg.port = given.socket[0].port;
	}
	return r;
}

/* TLS needs more memory for a connection. */
static unsigned connections_wanted(void)
{
	unsigned wanted = (unsigned)cfg.max_conns, room;

	if (!serving_tls(&cfg))
		return wanted;
	room = serving_tls_room(cfg.memory ? (size_t)cfg.memory : machine_budget());
	return wanted < room ? wanted : room;
}

static int webroot_load(void)
{
	int r = acme_setup(cfg.acme_webroot);

	return r < 0 ? complain(2, "cannot use SANDSTORM_ACME_WEBROOT %s: %s", cfg.acme_webroot,
			       strerror(-r))
		     : 0;
}

static int serve_http(void)
{
	static const struct transport http = {
		.stop = serve_stop, .hang_up = reread, .log_json = true
	};
	struct serve_config c = {
		.host = cfg.host,
		.port = (unsigned)cfg.port,
		.socket = given.socket,
		.sockets = given.sockets,
		.rate_limit = cfg.rate_limit,
		.health_detail = cfg.health_detail,
		.tls = serving_tls(&cfg),
		.origin = { cfg.public_url, cfg.domain, cfg.allowed_origins, cfg.allowed_hosts,
			cfg.trusted_proxies, cfg.host, (unsigned)cfg.port, serving_tls(&cfg) },
	};
	int r = origin_load(&c.origin);
	unsigned port = 0;

	if (r == 0)
		r = webroot_load();
	if (r == 0)
		r = start_up(&cfg, "host", &http);
	if (r == 0 && c.tls)
		r = serving_tls_load(&cfg);
	if (r || cfg.check)
		return r;
	if (c.tls)
		serving_tls_tell();
	if (c.tls && cfg.acme_webroot)
		c.plain_port = (unsigned)cfg.acme_port;
	sign_ins_load(state_usable());
	start_say_missing();
	c.max_conns = connections_allowed(connections_wanted());
	c.sessions = tool_find(LIT("terminal_exec")) != NULL;
	c.health = (struct health_config){ cfg.max_instances, host_root() };
	r = serve_start(&c, &port);
	return r < 0 ? serve_failed(r, port) : start_run();
}

int cmd_serve(int argc, char **argv)
{
	int words, r = config_load(&cfg, argc, argv, 0, &words);

	if (r == 0 && !cfg.stdio)
		r = tokens_load();
	if (r == 0)
		r = sockets_load();
	upstream_take_token();
	env_scrub(cfg.scrub, config_is_ours);
	if (r)
		return r;
	return cfg.stdio && !cfg.check ? serve_stdio("host") : serve_http();
}
