/*
 * The probe of /health, for containers: one request with a blocking socket, or with TLS where this
 * machine's own server speaks it (decision 60).
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/str.h"
#include "bounds.h"
#include "config.h"
#include "front/health.h"
#include "front/probe_tls.h"
#include "http/authority.h"
#include "http/head.h"
#include "http/https_url.h"
#include "json/json.h"
#include "tls/roots.h"
#include "version.h"

enum {
	ANSWER_MAX = 16 * KIB,
	TOKENS_MEM = 16 * KIB,
	ADDRESSES_MAX = 2,
	REQUEST_MAX_SIZE = PUBLIC_URL_MAX + SECRET_MAX + 300,
};

struct probe {
	const char *url;
	struct slice name, path; /* "host[:port]" as given; path with its slash */
	struct slice token;      /* for /mcp, which is asked with a ping */
	struct slice request;
	unsigned char address[ADDRESSES_MAX][16];
	int addresses, port;
	bool https;
	struct tls_roots pinned; /* the first of them */
	int64_t give_up;         /* in clock_ms */
	struct buf answer;
};

static char answer_mem[ANSWER_MAX], tokens_mem[TOKENS_MEM];

/* --- the URL --- */

/* Numbers only: who probes knows the machine, and resolving names would bring in much. */
static bool addresses_of(struct probe *p, struct slice host)
{
	p->addresses = 1;
	if (address_parse(host, p->address[0]))
		return true;
	p->addresses = 2;
	return http_same(host, "localhost") && address_parse(LIT("127.0.0.1"), p->address[0]) &&
	       address_parse(LIT("::1"), p->address[1]);
}

static int url_parse(struct probe *p)
{
	struct slice url = slice_of(p->url), rest;
	struct authority a;

	if (!authority_parse_url(url, &a, &p->path))
		return complain(2, "health: \"%s\" is no URL such as http://127.0.0.1:8080/health",
			http_origin_shown(p->url));
	if (!addresses_of(p, a.host))
		return complain(2, "health: %.*s is a name; use a numeric address, or localhost",
			SLICE(a.host));
	rest = slice_head(url, url.n - p->path.n);
	p->name = slice_from(rest, a.scheme.n + sizeof("://") - 1);
	p->port = a.port;
	p->https = http_same(a.scheme, "https");
	if (p->path.n <= 1)
		p->path = LIT("/health");
	return 0;
}

static bool asks_mcp(const struct probe *p)
{
	return slice_is(p->path, "/mcp");
}

static void put_ping(struct buf *b, struct slice token)
{
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

	buf_printf(b,
		"Authorization: Bearer %.*s\r\nContent-Type: application/json\r\n"
		"Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n\r\n%s",
		SLICE(token), sizeof(ping) - 1, ping);
}

/* HTTP/1.0, so that the answer is never chunked and ends with the connection. */
static int request_make(struct probe *p)
{
	static char mem[REQUEST_MAX_SIZE];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "%s %.*s HTTP/1.0\r\nHost: %.*s\r\nUser-Agent: sandstorm-mcp/%s\r\n",
		asks_mcp(p) ? "POST" : "GET", SLICE(p->path), SLICE(p->name), SERVER_VERSION);
	if (asks_mcp(p))
		put_ping(&b, p->token);
	else
		buf_puts(&b, "\r\n");
	p->request = buf_all(&b);
	return b.failed ? complain(2, "health: the URL is over %d bytes long", PUBLIC_URL_MAX) : 0;
}

/* --- the exchange --- */

/* What blocks next ends at the deadline. 0, or -ETIMEDOUT when it has passed. */
static int limit(const struct probe *p, int fd)
{
	int64_t left = p->give_up - clock_ms();
	struct timeval t = { .tv_sec = left / 1000, .tv_usec = left % 1000 * 1000 };

	if (left <= 0)
		return -ETIMEDOUT;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return 0;
}

/* A limited call that gave up waiting says one of these. */
static int failure(void)
{
	return errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
}

static int request_send(int fd, struct slice s)
{
	ssize_t n;

	for (; s.n > 0; s = slice_from(s, (size_t)n)) {
		n = send(fd, s.p, s.n, MSG_NOSIGNAL);
		if (n < 0)
			return failure();
	}
	return 0;
}

static int answer_read(struct probe *p, int fd)
{
	struct buf *b = &p->answer;
	ssize_t n = 1;
	int r = 0;

	for (; n > 0 && b->len < b->max; b->len += (size_t)n) {
		r = limit(p, fd);
		if (r < 0)
			return r;
		n = recv(fd, b->p + b->len, b->max - b->len, 0);
		if (n < 0)
			return failure();
	}
	return 0;
}

/* What goes over a connection, which is closed then. 0 or -errno. */
static int converse(struct probe *p, int fd)
{
	int r;

	buf_cut(&p->answer, 0);
	if (p->https)
		return probe_tls(
			fd, &p->pinned.cert[0], p->request, &p->answer, p->give_up - clock_ms());
	r = request_send(fd, p->request);
	if (r == 0)
		r = answer_read(p, fd);
	close(fd);
	return r;
}

/* 0 or -errno. */
static int exchange(struct probe *p, const unsigned char addr[16])
{
	union socket_address a;
	socklen_t len = address_to_socket(addr, (unsigned)p->port, &a);
	int r, fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	r = limit(p, fd);
	if (r == 0 && connect(fd, &a.any, len) < 0)
		r = failure();
	if (r == 0)
		return converse(p, fd);
	close(fd);
	return r;
}

/* --- the answer --- */

/* The three digits behind "HTTP/1.x ", and *body becomes what follows the head; 0: no HTTP. */
static int answer_status(struct slice answer, struct slice *body)
{
	static const char begin[] = "HTTP/1.x ";
	size_t at = sizeof(begin) - 1, scanned = 0, head = http_head_end(answer, &scanned);
	int64_t status;

	if (head < at + 4 || !str_starts(answer, "HTTP/1.") || answer.p[at + 3] > ' ')
		return 0;
	if (str_int((struct slice){ answer.p + at, 3 }, &status) < 0 || status < 100)
		return 0;
	*body = slice_from(answer, head);
	return (int)status;
}

static bool body_parse(const struct probe *p, struct slice body, struct json *d)
{
	struct buf mem;

	buf_over(&mem, tokens_mem, sizeof(tokens_mem));
	return json_parse(d, p->answer.p + (body.p - p->answer.p), body.n, &mem) == 0;
}

static bool is_well(const struct json *d, bool mcp)
{
	return mcp ? json_type(d, json_get(d, 0, "result")) == JSON_OBJECT
		   : json_type(d, json_get(d, 0, "ok")) == JSON_TRUE;
}

static int judge(const struct probe *p)
{
	struct slice body;
	struct json d;
	int status = answer_status(buf_all(&p->answer), &body);

	if (status == 0)
		return complain(1, "health: %s does not answer with HTTP", p->url);
	if (status != 200)
		return complain(1, "health: %s answers with status %d%s", p->url, status,
			status == 401 && !p->token.n ? "; the token is needed, as for serve" : "");
	if (!body_parse(p, body, &d) || !is_well(&d, asks_mcp(p)))
		return complain(1, "health: %s does not say that all is well", p->url);
	return 0;
}

static int pin_load(struct probe *p, const char *cert_path)
{
	char mem[256];
	struct buf why;

	if (!cert_path)
		return complain(2, "health: https can be probed where SANDSTORM_TLS_CERT names the "
				   "certificate of the server");
	buf_over(&why, mem, sizeof(mem));
	if (tls_roots_read(&p->pinned, cert_path, &why) < 0)
		return complain(2, "SANDSTORM_TLS_CERT %s: %.*s", cert_path, SLICE(buf_all(&why)));
	return 0;
}

static const char *failure_text(int r)
{
	if (r == -EKEYREJECTED)
		return "it has another key than SANDSTORM_TLS_CERT; a server rereads it at SIGHUP";
	return r == -EPROTO ? "it does not speak TLS 1.2" : strerror(-r);
}

int health_probe(const char *url, const char *cert_path, struct slice token)
{
	struct probe p = { .url = url, .token = token, .give_up = clock_ms() + PROBE_MS };
	int r = url_parse(&p);

	if (r == 0)
		r = request_make(&p);
	if (r == 0 && p.https)
		r = pin_load(&p, cert_path);
	if (r)
		return r;
	buf_over(&p.answer, answer_mem, sizeof(answer_mem));
	r = exchange(&p, p.address[0]);
	if (r < 0 && p.addresses > 1 && exchange(&p, p.address[1]) == 0)
		r = 0;
	if (r < 0)
		return complain(1, "health: %s cannot be reached: %s", url, failure_text(r));
	return judge(&p);
}

bool health_says_ours(const struct json *d)
{
	return json_str_is(d, json_get(d, 0, "server"), SERVER_NAME) &&
	       json_type(d, json_get(d, 0, "max_instances")) == JSON_NUMBER;
}

bool health_is_ours(const unsigned char address[16], unsigned port)
{
	struct probe p = { .name = LIT("localhost"), .path = LIT("/health"), .port = (int)port };
	struct slice body;
	struct json d;

	p.give_up = clock_ms() + PROBE_MS;
	buf_over(&p.answer, answer_mem, sizeof(answer_mem));
	return request_make(&p) == 0 && exchange(&p, address) == 0 &&
	       answer_status(buf_all(&p.answer), &body) == 200 && body_parse(&p, body, &d) &&
	       health_says_ours(&d);
}
