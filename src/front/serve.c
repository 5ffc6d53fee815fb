#include "front/serve.h"

#include <errno.h>

#include "base/log.h"
#include "bounds.h"
#include "front/acme.h"
#include "front/auth.h"
#include "front/cidr.h"
#include "front/gate.h"
#include "front/http_mcp.h"
#include "front/oauth.h"
#include "front/page_home.h"
#include "front/plain.h"
#include "front/session_api.h"
#include "http/authority.h"
#include "mcp/job.h"
#include "tls/pem.h"
#include "tls/server.h"

enum {
	STOP_TICK_MS = 20,
	STOP_IDLE_MS = 500, /* a request that was sent before its client knew is there by then */
};

static bool health_detail;

/* --- routes --- */

static void serve_health(struct http_request *r)
{
	char mem[2 * KIB];
	struct buf body;
	struct jw w;

	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	health_put(&w, health_detail || gate_has_token(r));
	gate_answer(r, 200, "application/json", LIT("Cache-Control: no-store\r\n"), buf_all(&body));
}

/* What clients have to trust, where it is a CA of our own; they compare its fingerprint. */
static void serve_ca(struct http_request *r)
{
	static char mem[2 * CERT_MAX];
	const struct cert *root = tls_server_root();
	struct buf pem;

	if (!root) {
		gate_refuse(r, 404, (struct slice){ 0 }, "Not found");
		return;
	}
	buf_over(&pem, mem, sizeof(mem));
	pem_put(&pem, "CERTIFICATE", root->der);
	gate_answer(r, 200, "application/x-x509-ca-cert", (struct slice){ 0 }, buf_all(&pem));
}

enum {
	GET = 1 << HTTP_GET,
	READ = GET | 1 << HTTP_OPTIONS,
	POST = 1 << HTTP_POST | 1 << HTTP_OPTIONS,
	EVERY = GET | 1 << HTTP_HEAD | 1 << HTTP_POST | 1 << HTTP_DELETE | 1 << HTTP_OPTIONS |
		1 << HTTP_OTHER,
};

static const struct http_route routes[] = {
	{ "/mcp", EVERY, gate_mcp, http_mcp_serve, REQUEST_MAX },
	{ "/", GET, gate_open, page_home_serve },
	{ "/health", GET, NULL, serve_health },
	{ "/session/", EVERY, session_api_gate, session_api_serve, REQUEST_MAX },
	{ "/ca.pem", GET, gate_open, serve_ca },
	{ "/.well-known/oauth-protected-resource", READ, gate_open, oauth_serve_resource },
	{ "/.well-known/oauth-protected-resource/mcp", READ, gate_open, oauth_serve_resource },
	{ "/.well-known/oauth-authorization-server", READ, gate_open, oauth_serve_server },
	{ "/.well-known/oauth-authorization-server/mcp", READ, gate_open, oauth_serve_server },
	{ "/mcp/.well-known/oauth-authorization-server", READ, gate_open, oauth_serve_server },
	{ ACME_PATH, GET, gate_counted, acme_serve },
	{ "/oauth/register", POST, gate_counted, oauth_serve_register },
	{ "/oauth/authorize", GET | POST, gate_counted, oauth_serve_authorize },
	{ "/oauth/token", POST, gate_counted, oauth_serve_token },
	{ 0 },
};

/* --- start --- */

static void log_serving(const struct serve_config *c, const char *host, unsigned port)
{
	char mem[300];
	struct buf url;
	struct log_field fields[] = { { "url" }, { 0 } };

	buf_over(&url, mem, sizeof(mem));
	buf_puts(&url, c->tls ? "https://" : "http://");
	authority_put(&url, host, port);
	buf_puts(&url, "/mcp");
	fields[0].text = buf_all(&url);
	log_event(LOG_INFO, "serving", fields);
}

static void warn_wide(const char *host)
{
	unsigned char address[16];

	if (http_same(slice_of(host), "localhost"))
		return;
	if (!address_parse_hop(slice_of(host), address) || !address_is_loopback(address))
		log_event(LOG_WARN,
			"listening beyond loopback without TLS: the token travels in clear text; "
			"set SANDSTORM_TLS_CERT and SANDSTORM_TLS_KEY, or put a TLS proxy in front",
			NULL);
}

static void tell(const struct serve_config *c, const char *host, unsigned port)
{
	log_serving(c, host, port);
	if (!c->tls)
		warn_wide(host);
}

/* Of the sockets we were started with the one on the plain port is plain. */
static int listen_given(const struct serve_config *c, unsigned *plain_port)
{
	int r = 0;

	for (int i = 0; r == 0 && i < c->sockets; i++) {
		const struct serve_socket *s = &c->socket[i];

		r = http_listen_given(HTTP_GIVEN_FIRST + i, s->port == c->plain_port);
		if (s->port == c->plain_port)
			*plain_port = 0;
		else
			tell(c, s->host, s->port);
	}
	return r;
}

static int listen_all(const struct serve_config *c, unsigned *port)
{
	unsigned plain_port = c->plain_port;
	int r;

	*port = c->port;
	r = c->sockets ? listen_given(c, &plain_port) : http_listen(c->host, c->port);
	if (r == 0 && plain_port) {
		*port = plain_port;
		r = http_listen_plain(c->host, plain_port);
	}
	if (r == 0 && !c->sockets) /* who waits for this line finds all ports open */
		tell(c, c->host, c->port);
	return r;
}

int serve_start(const struct serve_config *c, unsigned *port)
{
	static struct http_server server = {
		.routes = routes, .plain_routes = plain_routes, .fields = gate_fields
	};
	int r;

	health_detail = c->health_detail;
	health_setup(&c->health);
	rate_setup(c->rate_limit);
	session_api_setup(c->sessions, c->health.max_instances);
	server.max_conns = c->max_conns;
	server.tls = c->tls;
	r = http_init(&server);
	return r ? r : listen_all(c, port);
}

/* --- stop --- */

static struct timer grace, idle, tick;

static void grace_over(struct timer *t)
{
	(void)t;
	http_stop();
	job_stop_all();
}

static void idle_over(struct timer *t)
{
	(void)t;
	http_close_idle();
}

/* A job lives until its answer is out. */
static void look_for_end(struct timer *t)
{
	bool expects = http_expects() || (idle.set && http_conn_count());

	if (job_count() == 0 && !(expects && grace.set))
		loop_stop(0);
	else
		timer_set(t, STOP_TICK_MS);
}

void serve_stop(int64_t grace_ms)
{
	http_stop_accepting();
	grace.fire = grace_over;
	idle.fire = idle_over;
	tick.fire = look_for_end;
	timer_set(&grace, grace_ms);
	timer_set(&idle, STOP_IDLE_MS);
	timer_set(&tick, 0);
}
