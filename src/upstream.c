#include "upstream.h"

#include <errno.h>

#include "base/file.h"
#include "base/str.h"
#include "bounds.h"
#include "http/client.h"
#include "http/trace.h"
#include "proxy/master.h"
#include "secrets.h"
#include "tls/roots.h"

static struct secret token;
static int token_found; /* as secret_load gives it */
static struct http_origin origin;
static struct tls_roots roots;
static const struct tls_roots *trusted;

const struct http_origin *upstream_origin(void)
{
	return &origin;
}

const struct tls_roots *upstream_roots(void)
{
	return trusted;
}

struct slice upstream_token(void)
{
	return str_trim(secret_text(&token));
}

static bool is_set(const char *value)
{
	return value && value[0];
}

/* --- the token --- */

void upstream_take_token(void)
{
	static const char *const names[] = { "SANDSTORM_TOKEN", NULL };

	token_found = secret_load(&token, names);
}

/* It goes into the head of each request; a file's line end is no part of it. */
static int token_check(void)
{
	struct slice t = upstream_token();
	const char *form = token.path[0] ? "_FILE" : "";

	if (token_found == -E2BIG || t.n > API_TOKEN_MAX)
		return complain(2, "SANDSTORM_TOKEN%s: the token has more than %d bytes", form,
			API_TOKEN_MAX);
	if (token_found < 0)
		return complain(2, "cannot read the token from SANDSTORM_TOKEN_FILE %s: %s",
			token.path, strerror(-token_found));
	for (size_t i = 0; i < t.n; i++)
		if (t.p[i] <= ' ' || t.p[i] > '~')
			return complain(2,
				"SANDSTORM_TOKEN%s: only printable ASCII without blanks can be "
				"the token; it is the content of the master's pki/api-token",
				form);
	return 0;
}

/* --- where the master is, and whom to trust --- */

static int url_load(const char *url)
{
	const char *why;

	if (http_origin_parse(&origin, slice_of(url), &why) < 0)
		return complain(2, "SANDSTORM_URL: \"%s\" %s", http_origin_shown(url), why);
	return 0;
}

/* The client of the protocol decides on the working directory, and mostly tells nobody. */
static void warn_relative(const char *path)
{
	if (path[0] != '/')
		complain(0,
			"SANDSTORM_CA %s is relative to the working directory: better give an "
			"absolute path",
			path);
}

static int ca_load(const char *path)
{
	char mem[256];
	struct buf why;

	trusted = tls_roots_builtin();
	if (!is_set(path))
		return 0;
	warn_relative(path);
	buf_over(&why, mem, sizeof(mem));
	if (tls_roots_read(&roots, path, &why) < 0)
		return complain(2, "SANDSTORM_CA %s: %.*s", path, SLICE(buf_all(&why)));
	trusted = &roots;
	return 0;
}

/* --- routes and trace --- */

static int routes_load(const char *path)
{
	static char mem[ROUTES_FILE_MAX + 1];
	struct buf text;
	const char *why;
	int line, r;

	if (!is_set(path))
		return 0;
	buf_over(&text, mem, ROUTES_FILE_MAX);
	r = read_file(path, &text);
	if (r == -E2BIG)
		return complain(2, "SANDSTORM_ROUTES %s is over the limit of %d bytes", path,
			ROUTES_FILE_MAX);
	if (r < 0)
		return complain(2, "cannot read SANDSTORM_ROUTES %s: %s", path, strerror(-r));
	if (routes_correct(mem, text.len, &line, &why) < 0)
		return complain(2, "SANDSTORM_ROUTES %s line %d: %s", path, line, why);
	return 0;
}

static int trace_load(const char *path)
{
	int r;

	if (!is_set(path))
		return 0;
	http_trace_hide(names_of(NAMES_TOKEN));
	r = http_trace_open(path);
	if (r == -ELOOP || r == -EINVAL)
		return complain(2, "SANDSTORM_TRACE %s is no regular file", path);
	return r < 0 ? complain(2, "cannot write SANDSTORM_TRACE %s: %s", path, strerror(-r)) : 0;
}

/* --- all of it --- */

static size_t max_output(const struct config *c)
{
	if (!c->max_output)
		return SANDBOX_OUTPUT_DEFAULT;
	return c->max_output < SANDBOX_OUTPUT_MAX ? (size_t)c->max_output : SANDBOX_OUTPUT_MAX;
}

int upstream_load(const struct config *c)
{
	struct master_config m = {
		.http_timeout_ms = c->http_timeout_ms,
		.start_timeout_ms = c->start_timeout_ms,
		.max_output = max_output(c),
	};
	int r = url_load(c->url);

	if (r == 0)
		r = token_check();
	if (r == 0)
		r = ca_load(c->ca);
	if (r == 0)
		r = routes_load(c->routes);
	if (r == 0)
		r = trace_load(c->trace);
	m.token = upstream_token();
	master_setup(&m);
	http_client_setup(&origin, trusted);
	return r;
}
