#include "http/head.h"

#include "base/percent.h"
#include "base/str.h"
#include "bounds.h"

/* --- request line --- */

static enum http_method method_of(struct slice s)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "DELETE", "OPTIONS" };
	int i = 0;

	while (i < HTTP_OTHER && !slice_is(s, names[i]))
		i++;
	return (enum http_method)i;
}

/* 0, or the status for a version that is not 1.x. */
static int version_take(struct http_head *h, struct slice s)
{
	int major;

	if (!http_version(s, &major, &h->minor))
		return 400;
	return major == 1 ? 0 : 505;
}

/*
 * A proxy may send the absolute form (RFC 9112 section 3.2.2): scheme and authority are cut off,
 * and the authority counts instead of what Host says, which field_use then finds taken. Empty: no
 * target for us.
 */
static struct slice target_path(struct http_head *h, struct slice s)
{
	size_t i = 0;

	if ((s.n && s.p[0] == '/') || slice_is(s, "*"))
		return s;
	if (!http_same(slice_head(s, 7), "http://") && !http_same(slice_head(s, 8), "https://"))
		return (struct slice){ s.p, 0 };
	s = slice_from(s, s.p[4] == ':' ? 7 : 8);
	while (i < s.n && s.p[i] != '/' && s.p[i] != '?')
		i++;
	if (i == 0)
		return (struct slice){ s.p, 0 };
	h->field[FIELD_HOST] = slice_head(s, i);
	return i < s.n && s.p[i] == '/'
		       ? slice_from(s, i)
		       : (struct slice){ s.p - 1, 1 }; /* the slash before the host */
}

/* The byte that stands at s, a percent escape decoded, and in *used its length; -1 for a broken
 * escape. */
static int path_byte(struct slice s, size_t *used)
{
	bool escape = s.p[0] == '%';

	*used = escape ? 3 : 1;
	return escape ? percent_byte(s) : (unsigned char)s.p[0];
}

bool http_path_starts(struct slice path, const char *prefix, struct slice *rest)
{
	size_t used;

	for (; path.n && *prefix; prefix++) {
		if (path_byte(path, &used) != (unsigned char)*prefix)
			return false;
		path = slice_from(path, used);
	}
	*rest = path;
	return !*prefix;
}

bool http_path_is(struct slice path, const char *want)
{
	struct slice rest;

	return http_path_starts(path, want, &rest) && (!rest.n || slice_is(rest, "/"));
}

static int request_line(struct http_head *h, struct slice line)
{
	struct slice method = str_split(&line, ' '), target = str_split(&line, ' ');
	int status = version_take(h, line);

	if (!http_is_token(method) || !http_is_target(target) || status == 400)
		return 400;
	if (status)
		return status;
	h->method = method_of(method);
	h->query = target_path(h, target);
	h->path = str_split(&h->query, '?');
	return h->path.n ? 0 : 400;
}

/* --- fields --- */

/* Names with what they are for; a field that may stand only once is refused the second time. */
enum { KEEP, LENGTH, CODING, CONNECTION, EXPECT, ACCEPT };

static const struct field {
	const char *name;
	unsigned char n;
	unsigned char use;
	unsigned char at;
	bool once;
} fields[] = {
#define FIELD(name, use, at, once)                                                                 \
	{                                                                                          \
		name, sizeof(name) - 1, use, at, once                                              \
	}
	// clang-format off
	FIELD("Host", KEEP, FIELD_HOST, true),
	FIELD("Content-Length", LENGTH, 0, true),
	FIELD("Content-Type", KEEP, FIELD_CONTENT_TYPE, true),
	FIELD("Accept", ACCEPT, 0, false),
	FIELD("Authorization", KEEP, FIELD_AUTHORIZATION, true),
	FIELD("Origin", KEEP, FIELD_ORIGIN, true),
	FIELD("Connection", CONNECTION, 0, false),
	FIELD("Transfer-Encoding", CODING, 0, true),
	FIELD("Expect", EXPECT, 0, false),
	FIELD("MCP-Protocol-Version", KEEP, FIELD_MCP_VERSION, true),
	FIELD("Mcp-Method", KEEP, FIELD_MCP_METHOD, true),
	FIELD("Mcp-Name", KEEP, FIELD_MCP_NAME, true),
	FIELD("X-Forwarded-For", KEEP, FIELD_FORWARDED_FOR, false),
	FIELD("X-Forwarded-Proto", KEEP, FIELD_FORWARDED_PROTO, false),
	FIELD("X-Forwarded-Host", KEEP, FIELD_FORWARDED_HOST, false),
	FIELD("Access-Control-Request-Method", KEEP, FIELD_REQUEST_METHOD, true),
	FIELD("Access-Control-Request-Headers", KEEP, FIELD_REQUEST_HEADERS, false),
// clang-format on
#undef FIELD
};

enum { FIELD_ROWS = sizeof(fields) / sizeof(*fields) };

static int field_row(struct slice name)
{
	int i = 0;

	while (i < FIELD_ROWS && (fields[i].n != name.n || !http_same(name, fields[i].name)))
		i++;
	return i;
}

static int length_take(struct http_head *h, struct slice v)
{
	return http_length(v, &h->length) ? 0 : 400;
}

static int coding_take(struct http_head *h, struct slice v)
{
	h->chunked = http_same(v, "chunked");
	return h->chunked ? 0 : 501;
}

static void connection_take(struct http_head *h, struct slice list)
{
	if (http_list_has(list, "close"))
		h->close = true;
	if (h->minor == 0 && http_list_has(list, "keep-alive"))
		h->keep_alive = true;
}

/* Weights are not weighed: who names a type can read it. */
static void accept_take(struct http_head *h, struct slice list)
{
	while (list.n) {
		struct slice item = str_split(&list, ','), type = str_trim(str_split(&item, ';'));

		if (http_same(type, "application/json"))
			h->accept |= ACCEPT_JSON;
		else if (http_same(type, "text/event-stream"))
			h->accept |= ACCEPT_SSE;
		else if (http_same(type, "*/*"))
			h->accept |= ACCEPT_JSON | ACCEPT_SSE;
		else if (http_same(type, "application/*"))
			h->accept |= ACCEPT_JSON;
		else if (http_same(type, "text/*"))
			h->accept |= ACCEPT_SSE;
	}
}

static int field_use(struct http_head *h, const struct field *f, struct slice v)
{
	switch (f->use) {
	case LENGTH:
		return length_take(h, v);
	case CODING:
		return coding_take(h, v);
	case CONNECTION:
		connection_take(h, v);
		return 0;
	case ACCEPT:
		accept_take(h, v);
		return 0;
	case EXPECT:
		h->expect_continue = http_same(v, "100-continue");
		return h->expect_continue ? 0 : 417;
	default:
		/* Of several lists of addresses the last is the nearest proxy's, what stands before
		 * anybody may have sent. */
		if (!h->field[f->at].p || f->at == FIELD_FORWARDED_FOR)
			h->field[f->at] = v;
		return 0;
	}
}

/* *seen: bit i for row i. */
static int field_line(struct http_head *h, struct slice line, uint32_t *seen)
{
	struct slice name, value;
	int i;

	if (!http_field_split(line, &name, &value))
		return 400;
	i = field_row(name);
	if (i == FIELD_ROWS)
		return 0;
	if (fields[i].once && (*seen >> i & 1))
		return 400;
	*seen |= UINT32_C(1) << i;
	return field_use(h, &fields[i], value);
}

static bool row_seen(uint32_t seen, int use, int at)
{
	for (int i = 0; i < FIELD_ROWS; i++)
		if (fields[i].use == use && fields[i].at == at)
			return seen >> i & 1;
	return false;
}

/* What only the whole head can tell. */
static int head_check(struct http_head *h, uint32_t seen)
{
	h->keep_alive = h->keep_alive && !h->close;
	if (h->chunked && (h->length >= 0 || h->minor == 0))
		return 400;
	if (h->minor > 0 && !row_seen(seen, KEEP, FIELD_HOST))
		return 400;
	if (!row_seen(seen, ACCEPT, 0))
		h->accept = ACCEPT_JSON | ACCEPT_SSE;
	if (h->minor == 0)
		h->expect_continue = false;
	return 0;
}

int http_head_parse(struct http_head *h, struct slice text)
{
	struct slice rest = text, line;
	uint32_t seen = 0;
	int status, count = 0;

	*h = (struct http_head){ .length = -1 };
	if (str_starts(rest, "\n") || str_starts(rest, "\r\n")) /* RFC 9112 section 2.2 */
		http_line_take(&rest);
	status = request_line(h, http_line_take(&rest));
	h->keep_alive = h->minor > 0;
	while (status == 0 && rest.n) {
		line = http_line_take(&rest);
		if (!line.n)
			break;
		status = ++count > HTTP_FIELDS_MAX ? 431 : field_line(h, line, &seen);
	}
	return status ? status : head_check(h, seen);
}
