#include "front/gate.h"

#include "base/address.h"
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "front/auth.h"
#include "front/origin.h"
#include "json/json_write.h"
#include "loop/loop.h"

enum { FIELDS_MAX = 2 * KIB };

void gate_fields(const struct http_head *h, struct buf *b)
{
	if (h && origin_ok(h))
		origin_put_cors(h, b);
}

/* May another refusal be logged? *unlogged: how many were not, until now. */
static bool refusal_counts(int64_t *unlogged)
{
	static int64_t second = -1, count, left_out;

	if (loop_now() / 1000 != second) {
		second = loop_now() / 1000;
		count = 0;
	}
	if (++count > REFUSALS_LOGGED) {
		left_out++;
		return false;
	}
	*unlogged = left_out;
	left_out = 0;
	return true;
}

void gate_put_peer(const struct http_request *r, struct buf *b)
{
	unsigned char client[16];

	origin_client(r->head, http_peer(r->conn), client);
	address_put(b, client);
}

void gate_log_refusal(const struct http_request *r, int status, const char *why)
{
	struct log_field fields[] = {
		{ "status", .number = status },
		{ "path", .text = slice_head(r->head->path, NAME_SHOWN_MAX) },
		{ "why", .text = slice_of(why) },
		{ "peer" },
		{ "unlogged" },
		{ 0 },
	};
	char mem[64];
	struct buf peer;

	if (!refusal_counts(&fields[4].number))
		return;
	buf_over(&peer, mem, sizeof(mem));
	gate_put_peer(r, &peer);
	fields[3].text = buf_all(&peer);
	if (fields[4].number == 0)
		fields[4] = (struct log_field){ 0 };
	log_event(LOG_WARN, "refused", fields);
}

void gate_answer(
	struct http_request *r, int status, const char *type, struct slice more, struct slice body)
{
	char mem[FIELDS_MAX];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	gate_fields(r->head, &fields);
	buf_slice(&fields, more);
	http_answer(r->conn, status, type, buf_all(&fields), body);
}

void gate_refuse(struct http_request *r, int status, struct slice more, const char *text)
{
	char mem[512];
	struct buf body;
	struct jw w;

	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	jw_puts(&w, "error", text);
	jw_close(&w);
	gate_log_refusal(r, status, text);
	gate_answer(r, status, "application/json", more, buf_all(&body));
}

bool gate_is_json(const struct http_head *h)
{
	struct slice type = h->field[FIELD_CONTENT_TYPE];

	return http_same(str_trim(str_split(&type, ';')), "application/json");
}

bool gate_has_token(const struct http_request *r)
{
	return auth_bearer_ok(r->head->field[FIELD_AUTHORIZATION]);
}

static bool answer_preflight(struct http_request *r)
{
	char mem[FIELDS_MAX];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	origin_put_cors(r->head, &fields);
	origin_put_preflight(r->head, &fields);
	http_answer(r->conn, 204, NULL, buf_all(&fields), (struct slice){ 0 });
	return false;
}

static bool refuse_wait(struct http_request *r, int seconds, const char *text)
{
	char mem[64];
	struct buf more;

	buf_over(&more, mem, sizeof(mem));
	buf_printf(&more, "Retry-After: %d\r\n", seconds);
	gate_refuse(r, 429, buf_all(&more), text);
	return false;
}

/* Says where a client finds out how to get a token (RFC 9728 section 5.1). */
static bool refuse_credential(struct http_request *r)
{
	char mem[1 * KIB];
	struct buf more;

	buf_over(&more, mem, sizeof(mem));
	buf_puts(&more, "WWW-Authenticate: Bearer resource_metadata=\"");
	origin_put_url(r->head, http_peer(r->conn), &more);
	buf_puts(&more, "/.well-known/oauth-protected-resource/mcp\"\r\n");
	gate_refuse(r, 401, buf_all(&more), "Unauthorized");
	return false;
}

/* A wrong credential, unlike none, counts as a guess. False: there were too many, that is answered.
 */
static bool may_guess(struct http_request *r, const unsigned char client[16])
{
	int wait = http_has(r->head, FIELD_AUTHORIZATION) ? rate_failure(client) : 0;

	return !wait || refuse_wait(r, wait, "Too many wrong credentials");
}

static bool check_credential(struct http_request *r, const unsigned char client[16])
{
	if (gate_has_token(r))
		return true;
	return may_guess(r, client) && refuse_credential(r);
}

static bool refuse_session(struct http_request *r)
{
	if (auth_session_token())
		gate_refuse(r, 401, (struct slice){ 0 }, "Unauthorized");
	else
		gate_refuse(r, 404, (struct slice){ 0 },
			"Sessions are off: set SESSION_AUTH_TOKEN, or present the MCP token");
	return false;
}

static bool check_session_credential(struct http_request *r, const unsigned char client[16])
{
	if (auth_session_ok(r->head->field[FIELD_AUTHORIZATION]))
		return true;
	return may_guess(r, client) && refuse_session(r);
}

static bool gate_host(struct http_request *r)
{
	if (origin_host_ok(r->head))
		return true;
	gate_refuse(r, 403, (struct slice){ 0 }, "Host not allowed, see SANDSTORM_ALLOWED_HOSTS");
	return false;
}

static bool gate_rate(struct http_request *r, enum rate_caller who, const unsigned char client[16])
{
	int wait = rate_request(who, client);

	return !wait || refuse_wait(r, wait, "Rate limit exceeded, see SANDSTORM_RATE_LIMIT");
}

/* What is asked before the credential. */
static bool gate_source(struct http_request *r)
{
	if (!gate_host(r))
		return false;
	if (!origin_ok(r->head)) {
		gate_refuse(r, 403, (struct slice){ 0 },
			"Origin not allowed, see SANDSTORM_ALLOWED_ORIGINS");
		return false;
	}
	if (r->head->method == HTTP_OPTIONS && http_has(r->head, FIELD_REQUEST_METHOD))
		return answer_preflight(r);
	return true;
}

static bool gate_with(struct http_request *r,
	bool (*credential)(struct http_request *r, const unsigned char client[16]))
{
	unsigned char client[16];

	if (!gate_source(r))
		return false;
	origin_client(r->head, http_peer(r->conn), client);
	if (!credential(r, client))
		return false;
	http_trust(r->conn);
	return gate_rate(r, RATE_HOLDER, client);
}

bool gate_mcp(struct http_request *r)
{
	return gate_with(r, check_credential);
}

bool gate_session(struct http_request *r)
{
	return gate_with(r, check_session_credential);
}

bool gate_open(struct http_request *r)
{
	if (!gate_host(r))
		return false;
	return r->head->method == HTTP_OPTIONS ? answer_preflight(r) : true;
}

bool gate_counted(struct http_request *r)
{
	unsigned char client[16];

	origin_client(r->head, http_peer(r->conn), client);
	return gate_open(r) && gate_rate(r, RATE_STRANGER, client);
}
