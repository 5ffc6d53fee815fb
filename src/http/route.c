/* Which route a request takes, and what is said when there is none or the request is none. */
#include "http/conn.h"

/* --- refusing --- */

#define TOO_LARGE(mib)                                                                             \
	"Content too large: a body holds at most " mib " MiB, where no token is asked for 16 KiB"
_Static_assert(REQUEST_MAX == 16 * MIB || REQUEST_MAX == 8 * MIB, "TOO_LARGE says so");

static const struct {
	int status;
	const char *text;
} refusals[] = {
	// clang-format off
	{ 408, "Request timeout: the request did not arrive in time" },
	{ 413, REQUEST_MAX == 16 * MIB ? TOO_LARGE("16") : TOO_LARGE("8") },
	{ 417, "Expectation failed: only 100-continue is known" },
	{ 431, "Request head too large: at most 16 KiB and 100 fields" },
	{ 501, "Transfer-Encoding not implemented: only chunked is known" },
	{ 503, "Server is busy: too many large uploads, try again" },
	{ 505, "HTTP version not supported: only 1.0 and 1.1 are" },
	// clang-format on
};

static const char *refusal_text(int status)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (refusals[i].status == status)
			return refusals[i].text;
	return "Bad request: not a well-formed HTTP request";
}

static void refuse(struct http_conn *c, int status, const char *text)
{
	char mem[512];
	struct buf fields, body;
	char body_mem[256];

	buf_over(&fields, mem, sizeof(mem));
	buf_over(&body, body_mem, sizeof(body_mem));
	if (http_server->fields)
		http_server->fields(NULL, &fields);
	if (status == 503)
		buf_puts(&fields, "Retry-After: 1\r\n");
	buf_printf(&body, "{\"error\":\"%s\"}", text);
	c->keep_alive = false;
	http_answer(c, status, "application/json", buf_all(&fields), buf_all(&body));
}

void conn_refuse(struct http_conn *c, int status)
{
	refuse(c, status, refusal_text(status));
}

void conn_refuse_plain(struct http_conn *c)
{
	refuse(c, 400, "This port speaks https: the URL must begin with https://");
}

/* --- routes --- */

/* "/" itself is a page, not everything. */
static bool route_is(const struct http_route *r, struct slice path)
{
	size_t n = strlen(r->path);
	struct slice rest;

	if (n == 0)
		return true;
	if (n > 1 && r->path[n - 1] == '/')
		return http_path_starts(path, r->path, &rest);
	return http_path_is(path, r->path);
}

const struct http_route *route_find(
	const struct http_conn *c, const struct http_head *h, unsigned *allowed)
{
	const struct http_route *r = c->plain ? http_server->plain_routes : http_server->routes;
	unsigned bit = 1u << (h->method == HTTP_HEAD ? HTTP_GET : h->method);

	*allowed = 0;
	for (; r->path; r++) {
		if (!route_is(r, h->path))
			continue;
		if (r->methods & bit)
			return r;
		*allowed |= r->methods;
	}
	return NULL;
}

static void put_allow(struct buf *b, unsigned methods)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ 1 << HTTP_GET, "GET, HEAD" },
		{ 1 << HTTP_POST, "POST" },
		{ 1 << HTTP_DELETE, "DELETE" },
		{ 1 << HTTP_OPTIONS, "OPTIONS" },
	};
	const char *comma = "Allow: ";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (methods & names[i].bit) {
			buf_printf(b, "%s%s", comma, names[i].name);
			comma = ", ";
		}
	buf_puts(b, "\r\n");
}

static void no_route(struct http_request *r, unsigned allowed)
{
	char mem[1 * KIB];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	if (http_server->fields)
		http_server->fields(r->head, &fields);
	buf_puts(&fields, "Cache-Control: no-store\r\n"); /* caches would keep a 404 and a 405 */
	if (allowed)
		put_allow(&fields, allowed);
	http_answer(r->conn, allowed ? 405 : 404, "application/json", buf_all(&fields),
		allowed ? LIT("{\"error\":\"Method not allowed\"}")
			: LIT("{\"error\":\"Not found\"}"));
}

const struct http_route *route_request(struct http_request *r, bool body_there)
{
	unsigned allowed;
	const struct http_route *route = route_find(r->conn, r->head, &allowed);

	if (!body_there)
		r->conn->keep_alive = false;
	if (!route) {
		no_route(r, allowed);
		return NULL;
	}
	if (route->gate && !route->gate(r))
		return NULL;
	r->conn->keep_alive = r->head->keep_alive;
	return route;
}
