/*
 * Request heads of HTTP/1.0 and HTTP/1.1 (RFC 9112). Takes bytes, knows no descriptor.
 *
 * Whatever two parsers could read in two ways (request smuggling) is refused: Content-Length twice,
 * not all digits or beside Transfer-Encoding, a coding other than chunked, blanks before a colon,
 * folded lines, bare CR, control bytes.
 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "http/field.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER };

/* The fields somebody asks for; all others are checked and dropped. */
enum http_field {
	FIELD_HOST,
	FIELD_ORIGIN,
	FIELD_AUTHORIZATION,
	FIELD_CONTENT_TYPE,
	FIELD_FORWARDED_FOR,
	FIELD_FORWARDED_PROTO,
	FIELD_FORWARDED_HOST,
	FIELD_MCP_VERSION,
	FIELD_MCP_METHOD,
	FIELD_MCP_NAME,
	FIELD_REQUEST_METHOD, /* Access-Control-Request-Method: a preflight */
	FIELD_REQUEST_HEADERS,
	FIELDS
};

enum { ACCEPT_JSON = 1, ACCEPT_SSE = 2 };

/* All slices point into the text given to http_head_parse. */
struct http_head {
	enum http_method method;
	struct slice path;          /* as it came, without query; compare with http_path_is */
	struct slice query;         /* behind "?", as it came */
	int minor;                  /* HTTP/1.minor */
	struct slice field[FIELDS]; /* without blanks at the ends; p is NULL when absent */
	int64_t length;             /* Content-Length, -1: none */
	bool chunked;
	bool keep_alive;
	bool close; /* Connection: close, which wins over keep-alive */
	bool expect_continue;
	unsigned accept; /* ACCEPT_ bits; both when there is no Accept */
};

/* Parses a whole head. 0, or the status to answer before closing: 400, 417, 431, 501, 505. */
int http_head_parse(struct http_head *h, struct slice text) __attribute__((warn_unused_result));

static inline bool http_has(const struct http_head *h, enum http_field f)
{
	return h->field[f].p != NULL;
}

/* Is the path, its percent escapes decoded, path (with or without a slash at the end)? */
bool http_path_is(struct slice path, const char *want);
/* Does it begin with prefix, decoded likewise? *rest is what follows, as it came. */
bool http_path_starts(struct slice path, const char *prefix, struct slice *rest);

#endif
