#include "serving.h"

#include <errno.h>

#include "base/log.h"
#include "environment.h"
#include "front/auth.h"
#include "front/serve.h"
#include "front/stdio.h"
#include "host/host.h"
#include "secrets.h"
#include "start.h"

static struct config cfg;

static int no_words(int words, char **argv)
{
	return words ? complain(2, "unknown word %s, see --help", argv[0]) : 0;
}

/* --- stdio --- */

static int serve_stdio(const char *tools)
{
	static const struct transport stdio = { .stop = stdio_stop };
	int r = start_up(&cfg, tools, &stdio);

	if (r)
		return r;
	r = stdio_start();
	if (r < 0)
		return complain(1, "cannot serve on standard input and output: %s", strerror(-r));
	r = start_run();
	stdio_restore();
	return r;
}

int cmd_stdio(int argc, char **argv)
{
	int words, r = start_config(&cfg, argc, argv, &words);

	if (r == 0)
		r = no_words(words, argv);
	if (r)
		return r;
	if (!cfg.tools)
		return complain(2, "the sandbox tools are not in this build yet; --tools host serves files and shell here");
	return serve_stdio(NULL);
}

/* --- the token --- */

static struct secret mcp_token;

static int token_load(void)
{
	static const char *const names[] = { "SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", NULL };
	int r = secret_load(&mcp_token, names);

	if (r < 0)
		return complain(2, "cannot read the token from %s: %s", mcp_token.path, strerror(-r));
	if (r == 0)
		return complain(2, "serve needs a token in SANDSTORM_MCP_TOKEN (or MCP_AUTH_TOKEN, or a file named by "
			"SANDSTORM_MCP_TOKEN_FILE); make one with: sandstorm-mcp token");
	if (mcp_token.n < TOKEN_MIN)
		return complain(2, "the token in %s has %zu bytes, at least %d are needed; make one with: sandstorm-mcp token",
			mcp_token.path[0] ? mcp_token.path : "SANDSTORM_MCP_TOKEN", mcp_token.n, TOKEN_MIN);
	auth_set_token(secret_text(&mcp_token));
	return 0;
}

/* HUP: a rotated token takes effect; one that cannot be used does not. */
static void token_reread(void)
{
	static struct secret old;
	int r;

	old = mcp_token;
	r = secret_reread(&mcp_token);
	if (r > 0 && mcp_token.n >= TOKEN_MIN) {
		log_event(LOG_INFO, "token reread", NULL);
	} else {
		log_event(LOG_WARN, r == 0 ? "no token file to reread" : "token file not usable, the old token stays", NULL);
		mcp_token = old;
	}
	auth_set_token(secret_text(&mcp_token));
}

/* --- HTTP --- */

static int serve_failed(int r)
{
	long long port = cfg.port;

	if (r == -EINVAL)
		return complain(2, "SANDSTORM_MCP_HOST: \"%s\" is not an address; use a number such as 127.0.0.1, 0.0.0.0 "
			"or ::1, or localhost", cfg.host);
	if (r == -EADDRINUSE)
		return complain(1, "port %lld on %s is taken%s; choose another with SANDSTORM_MCP_PORT", port, cfg.host,
			port == 8080 ? ", perhaps by a Sandstorm master" : "");
	if (r == -EACCES)
		return complain(1, "port %lld needs more rights than this user has; choose one above 1023 with "
			"SANDSTORM_MCP_PORT", port);
	return complain(1, "cannot serve on %s port %lld: %s", cfg.host, port, strerror(-r));
}

static int origin_load(const struct origin_config *c)
{
	struct slice bad;

	if (origin_setup(c, &bad) < 0)
		return complain(2, "%.*s is not a usable value for SANDSTORM_PUBLIC_URL, SANDSTORM_DOMAIN, "
			"SANDSTORM_ALLOWED_ORIGINS, SANDSTORM_ALLOWED_HOSTS or SANDSTORM_TRUSTED_PROXIES", SLICE(bad));
	return 0;
}

static int serve_http(void)
{
	static const struct transport http = { .stop = serve_stop, .hang_up = token_reread };
	struct serve_config c = {
		.host = cfg.host,
		.port = (unsigned)cfg.port,
		.max_conns = (unsigned)cfg.max_conns,
		.rate_limit = cfg.rate_limit,
		.health_detail = cfg.health_detail,
		.origin = { cfg.public_url, cfg.domain, cfg.allowed_origins, cfg.allowed_hosts, cfg.trusted_proxies },
	};
	int r = origin_load(&c.origin);

	if (r == 0)
		r = start_up(&cfg, "host", &http);
	if (r)
		return r;
	c.health = (struct health_config){ cfg.max_instances, host_root() };
	r = serve_start(&c);
	return r < 0 ? serve_failed(r) : start_run();
}

int cmd_serve(int argc, char **argv)
{
	int words, r = config_load(&cfg, argc, argv, &words);

	if (r == 0)
		r = no_words(words, argv);
	if (r == 0 && !cfg.stdio)
		r = token_load();
	env_scrub(cfg.scrub, config_is_ours);
	if (r)
		return r;
	return cfg.stdio ? serve_stdio("host") : serve_http();
}
