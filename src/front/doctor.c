#include "front/doctor.h"

#include <errno.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/str.h"
#include "bounds.h"
#include "config.h"
#include "front/doctor_ask.h"
#include "front/doctor_probe.h"
#include "front/health.h"
#include "front/json_shape.h"
#include "loop/proc.h"
#include "loop/resolve.h"
#include "proxy/routes.h"
#include "version.h"

static const struct doctor_config *config;
static struct resolve names;

/* --- what is known before anything is sent --- */

static void check_url(void)
{
	char mem[MASTER_URL_MAX + 16];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	http_origin_put(config->origin, &b);
	doctor_line(FINE, "SANDSTORM_URL", buf_all(&b), NULL);
}

static void put_cert(struct buf *b, const struct cert *c)
{
	cert_put_subject(b, c);
	buf_puts(b, ", valid ");
	cert_put_validity(b, c);
	buf_puts(b, ", SHA-256 ");
	cert_put_fingerprint(b, c);
}

/* Its own dates bind no anchor, but nobody should count on that. */
static bool is_in_time(const struct cert *c)
{
	int64_t now = clock_unix();

	return now >= c->not_before && now <= c->not_after;
}

static bool check_roots(void)
{
	char mem[2 * KIB];
	struct buf b;

	if (!config->roots)
		doctor_say(FAILED, "SANDSTORM_CA",
			"is not set, and no CA is built in; get the master's with: sandstorm-mcp "
			"ca URL ca.pem --fingerprint HEX");
	for (int i = 0; config->roots && i < config->roots->count; i++) {
		const struct cert *c = &config->roots->cert[i];
		bool fine = is_in_time(c);

		buf_over(&b, mem, sizeof(mem));
		buf_puts(&b, config->roots->built_in ? "built in: " : "");
		put_cert(&b, c);
		doctor_line(fine ? FINE : NOTE, "SANDSTORM_CA", buf_all(&b),
			fine ? NULL
			     : "that is not now: set the clock, or get the master's new CA with "
			       "sandstorm-mcp ca");
	}
	return config->roots != NULL;
}

/* Boards without a battery begin in 1970, and then no certificate is valid yet. */
static void check_clock(void)
{
	int64_t now = clock_unix();
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	clock_put_iso(&b, now);
	if (!clock_plausible(now))
		doctor_line(FAILED, "clock", buf_all(&b),
			"that is the past, where no certificate is valid yet: set the clock");
	else
		doctor_line(FINE, "clock", buf_all(&b), NULL);
}

/* --- the way to the master --- */

static void name_done(struct resolve *r)
{
	(void)r;
	loop_stop(0);
}

static bool is_number(const char *host)
{
	unsigned char address[16];

	return address_parse(slice_of(host), address);
}

static bool check_name(void)
{
	char mem[1 * KIB];
	struct buf b;
	int r;

	names = (struct resolve){ .host = config->origin->host, .done = name_done };
	r = resolve_start(&names, CONNECT_MS);
	if (r == 0)
		loop_run();
	if (r < 0)
		names.err = r;
	if (names.err) {
		doctor_say(FAILED, "name",
			"cannot resolve %s: %s; look at SANDSTORM_URL and at the name servers in "
			"/etc/resolv.conf",
			names.host, resolve_error(names.err));
		return false;
	}
	buf_over(&b, mem, sizeof(mem));
	buf_puts(&b, names.host);
	for (int i = 0; i < names.count && !is_number(names.host); i++) {
		buf_puts(&b, i ? ", " : " is ");
		address_put(&b, names.address[i]);
	}
	doctor_line(FINE, "name", buf_all(&b), is_number(names.host) ? "nothing to resolve" : NULL);
	return true;
}

/* What to do about a sentence of http/client or tls/client that has these words. */
static const struct remedy {
	const char *words, *remedy;
} remedies[] = {
	// clang-format off
	{ "connection refused", "start it, or correct the port in SANDSTORM_URL" },
	{ "(connect)", "a firewall drops what is sent there, or the host is off" },
	{ "(TLS)", "something listens there that does not speak TLS" },
	{ "not signed by", "this is another master, or it has a new CA: sandstorm-mcp ca" },
	{ "this host's date", "set the clock, or renew the master's certificate" },
	{ "not a TLS server", "another service has this port: correct SANDSTORM_URL" },
	{ "TLS 1.2", "allow TLS 1.2 on the master" },
	{ 0 },
	// clang-format on
};

static const char *remedy_for(const char *text)
{
	const struct remedy *r = remedies;

	while (r->remedy && !str_find(slice_of(text), slice_of(r->words)))
		r++;
	return r->remedy;
}

/* Does serve answer there, without TLS? Both default to port 8080. */
static bool is_plain_serve(void)
{
	for (int i = 0; i < names.count; i++)
		if (health_is_ours(names.address[i], config->origin->port))
			return true;
	return false;
}

static bool is_own_server(const struct doctor_answer *a)
{
	if (a->c.sent)
		return health_says_ours(&a->d);
	return !str_starts(slice_of(a->c.text), "CERTIFICATE_VERIFY_FAILED") && is_plain_serve();
}

static void say_own_server(const char *check)
{
	doctor_say(FAILED, check,
		"sandstorm-mcp serve answers there, which is no master: SANDSTORM_URL must name "
		"the master; where both run on one machine, one of them needs another port "
		"(SANDSTORM_MCP_PORT)");
}

static bool tcp_failed(enum http_call_failure failure, const char *phase)
{
	return failure == HTTP_CALL_REFUSED || failure == HTTP_CALL_CONNECT ||
	       failure == HTTP_CALL_RESOLVE ||
	       (failure == HTTP_CALL_TIMEOUT && strcmp(phase, "connect") == 0);
}

/* One call without the token, which tells of three things. */
static bool check_connection(void)
{
	const struct doctor_answer *a = doctor_get(LIT("/health"), false);
	const struct http_call *c = &a->c;
	bool tcp = !tcp_failed(c->failure, c->phase);

	doctor_line(tcp ? FINE : FAILED, "TCP", tcp ? LIT("connected") : slice_of(c->text),
		tcp ? NULL : remedy_for(c->text));
	if (!tcp)
		return false;
	if (!c->sent && is_own_server(a)) {
		say_own_server("TLS");
	} else if (!c->sent) {
		doctor_line(FAILED, "TLS", slice_of(c->text), remedy_for(c->text));
	} else {
		doctor_say(FINE, "TLS", "the certificate names %s and is signed by the CA",
			names.host);
		if (!is_own_server(a))
			return true;
		say_own_server("master");
	}
	return false;
}

/* --- what the master says --- */

static struct slice path_of(const char *tool)
{
	return slice_of(route_of(tool)->path);
}

static const char *remedy_for_route(void)
{
	return config->origin->prefix[0]
		       ? "SANDSTORM_URL has a path, which masters have only behind a proxy: take "
			 "it off"
		       : "this master has other routes: a file named by SANDSTORM_ROUTES corrects "
			 "them";
}

static bool check_token(void)
{
	const struct doctor_answer *a = doctor_get(path_of("list_sandboxes"), true);
	bool refused = a->c.failure == HTTP_CALL_OK && (a->c.status == 401 || a->c.status == 403);
	char mem[HTTP_CALL_TEXT + 600];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	doctor_put_outcome(a, &b);
	if (doctor_good(a))
		doctor_say(
			FINE, "token", config->token.n ? "accepted" : "the master asks for none");
	else if (refused)
		doctor_line(FAILED, "token", buf_all(&b),
			config->token.n
				? "SANDSTORM_TOKEN is not the master's: copy pki/api-token of its "
				  "state directory"
				: "SANDSTORM_TOKEN is not set: copy pki/api-token of the master's "
				  "state directory");
	else
		doctor_line(FAILED, "token", buf_all(&b),
			a->c.status == 404 ? remedy_for_route() : NULL);
	return doctor_good(a);
}

static void check_version(void)
{
	const struct doctor_answer *a = doctor_get(path_of("version"), true);
	int at = doctor_good(a) ? json_get(&a->d, 0, "version") : -1;
	struct slice raw = json_raw(&a->d, at);

	if (json_type(&a->d, at) == JSON_STRING && raw.n < 100)
		doctor_say(FINE, "version", "the master is %.*s", (int)raw.n - 2, raw.p + 1);
	else
		doctor_say(NOTE, "version", "the master does not tell its version");
}

static void check_templates(void)
{
	const struct doctor_answer *a = doctor_get(path_of("list_templates"), true);
	int list = doctor_good(a) ? json_list_in(&a->d) : -1;
	char mem[HTTP_CALL_TEXT + 600];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	doctor_put_outcome(a, &b);
	if (list >= 0)
		doctor_say(json_count(&a->d, list) ? FINE : NOTE, "templates",
			"%d to spawn sandboxes from", json_count(&a->d, list));
	else if (doctor_good(a))
		doctor_line(FAILED, "templates", LIT("the answer is no list"),
			"see it with SANDSTORM_TRACE=FILE");
	else if (a->c.failure == HTTP_CALL_OK && a->c.status == 404)
		doctor_line(NOTE, "templates", LIT("this master knows none"),
			"spawn_sandboxes then needs a tag");
	else
		doctor_line(FAILED, "templates", buf_all(&b), NULL);
}

static void check_all(void)
{
	bool roots, name;

	check_url();
	roots = check_roots();
	check_clock();
	name = check_name();
	if (name && !roots && is_plain_serve())
		say_own_server("master");
	else if (!roots || !name || !check_connection())
		doctor_say(SKIPPED, "master", "not asked before all of the above is fine");
	else if (!check_token())
		doctor_say(SKIPPED, "templates", "not asked without an accepted token");
	else {
		check_version();
		check_templates();
		if (config->probe)
			doctor_probe();
	}
}

int doctor_run(const struct doctor_config *c)
{
	int r = loop_init();

	config = c;
	if (r == 0)
		r = proc_init();
	if (r == 0)
		r = doctor_ask_init(c);
	if (r < 0)
		return complain(1, "doctor: cannot start: %s", strerror(-r));
	check_all();
	return doctor_failed() > 0;
}
