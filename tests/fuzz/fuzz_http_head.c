/*
 * A head ends where it ends, whatever pieces it comes in. What is parsed stands inside of the text,
 * holds no controls, and written anew in plain form is parsed the same; nothing with two readings
 * (RFC 9112 section 11.2) gets through. Paths match as their decoded form does.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "http/head.h"

static size_t end_in_pieces(struct slice in, size_t piece)
{
	size_t scanned = 0, end = 0, n = 0;

	while (end == 0 && n < in.n) {
		n = n + piece < in.n ? n + piece : in.n;
		end = http_head_end(slice_head(in, n), &scanned);
		MUST(scanned <= n && end <= n);
	}
	return end;
}

/* The first empty line with a line before it, by looking at each line. */
static size_t end_by_lines(struct slice in)
{
	struct slice rest = in, line;
	bool first = true;

	while (rest.n > 0) {
		if (!memchr(rest.p, '\n', rest.n))
			return 0;
		line = str_split(&rest, '\n');
		if (!first && (line.n == 0 || slice_is(line, "\r")))
			return in.n - rest.n;
		first = false;
	}
	return 0;
}

static bool inside(struct slice s, struct slice text)
{
	return s.p >= text.p && s.p + s.n <= text.p + text.n;
}

static void clean(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		MUST(((unsigned char)s.p[i] >= ' ' || s.p[i] == '\t') && s.p[i] != 0x7f);
	MUST(s.n == 0 || (s.p[0] != ' ' && s.p[0] != '\t'));
	MUST(s.n == 0 || (s.p[s.n - 1] != ' ' && s.p[s.n - 1] != '\t'));
}

/* Lines that name a field, in any case. */
static int count_lines(struct slice text, const char *name)
{
	int n = 0;

	while (text.n > 0) {
		struct slice line = str_split(&text, '\n'), before = str_split(&line, ':');

		n += http_same(str_trim(before), name);
	}
	return n;
}

static void one_reading(const struct http_head *h, struct slice text)
{
	int lengths = count_lines(text, "content-length");
	int codings = count_lines(text, "transfer-encoding");

	MUST(lengths + codings <= 1);
	MUST((h->length >= 0) == (lengths == 1));
	MUST(h->chunked == (codings == 1));
	MUST(h->minor > 0 || !h->chunked);
	MUST(!str_has(text, '\0'));
	for (size_t i = 0; i < text.n; i++) {
		MUST(text.p[i] != '\r' || text.p[i + 1] == '\n');
		MUST(text.p[i] != '\n' || i + 1 == text.n ||
			(text.p[i + 1] != ' ' && text.p[i + 1] != '\t'));
	}
}

static const char *const names[FIELDS] = {
	[FIELD_HOST] = "Host",
	[FIELD_ORIGIN] = "Origin",
	[FIELD_AUTHORIZATION] = "Authorization",
	[FIELD_CONTENT_TYPE] = "Content-Type",
	[FIELD_FORWARDED_FOR] = "X-Forwarded-For",
	[FIELD_FORWARDED_PROTO] = "X-Forwarded-Proto",
	[FIELD_FORWARDED_HOST] = "X-Forwarded-Host",
	[FIELD_MCP_VERSION] = "MCP-Protocol-Version",
	[FIELD_MCP_METHOD] = "Mcp-Method",
	[FIELD_MCP_NAME] = "Mcp-Name",
	[FIELD_REQUEST_METHOD] = "Access-Control-Request-Method",
	[FIELD_REQUEST_HEADERS] = "Access-Control-Request-Headers",
};

static void put_plain(const struct http_head *h, struct buf *b)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT" };

	buf_printf(b, "%s %.*s?%.*s HTTP/1.%d\r\n", methods[h->method], SLICE(h->path),
		SLICE(h->query), h->minor);
	for (int i = 0; i < FIELDS; i++)
		if (h->field[i].p)
			buf_printf(b, "%s: %.*s\r\n", names[i], SLICE(h->field[i]));
	if (h->length >= 0)
		buf_printf(b, "Content-Length: %lld\r\n", (long long)h->length);
	if (h->chunked)
		buf_puts(b, "Transfer-Encoding: chunked\r\n");
	buf_puts(b, h->keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
	if (h->expect_continue)
		buf_puts(b, "Expect: 100-continue\r\n");
	buf_puts(b, "Accept: ");
	buf_puts(b, h->accept & ACCEPT_JSON ? "application/json," : "");
	buf_puts(b, h->accept & ACCEPT_SSE ? "text/event-stream" : "");
	buf_puts(b, "\r\n\r\n");
}

static void same_again(const struct http_head *h)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);
	struct http_head again;

	put_plain(h, b);
	if (slice_is(h->path, "*"))
		return; /* has no query */
	MUST(http_head_parse(&again, buf_all(b)) == 0);
	MUST(again.method == h->method && again.minor == h->minor && again.length == h->length);
	MUST(again.chunked == h->chunked && again.keep_alive == h->keep_alive);
	MUST(again.expect_continue == h->expect_continue && again.accept == h->accept);
	MUST(slice_eq(again.path, h->path) && slice_eq(again.query, h->query));
	for (int i = 0; i < FIELDS; i++) {
		MUST(!again.field[i].p == !h->field[i].p);
		MUST(slice_eq(again.field[i], h->field[i]));
	}
}

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

/* Everything decoded first, then compared. */
static bool path_is_by_definition(struct slice path, const char *want)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);
	bool slash = false;

	while (path.n > 0) {
		slash = path.p[0] == '/';
		if (path.p[0] != '%') {
			buf_putc(b, path.p[0]);
			path = slice_from(path, 1);
			continue;
		}
		if (path.n < 3 || digit_of(path.p[1]) < 0 || digit_of(path.p[2]) < 0)
			return false;
		buf_putc(b, (char)(digit_of(path.p[1]) << 4 | digit_of(path.p[2])));
		path = slice_from(path, 3);
	}
	if (slice_is(buf_all(b), want))
		return true;
	return slash && slice_is(slice_head(buf_all(b), b->len - 1), want);
}

static void parsed(struct slice text)
{
	struct http_head h;
	int status = http_head_parse(&h, text);

	if (status) {
		MUST(status == 400 || status == 417 || status == 431 || status == 501 ||
			status == 505);
		return;
	}
	MUST(inside(h.path, text) && inside(h.query, text));
	MUST(h.path.n > 0 && (h.path.p[0] == '/' || slice_is(h.path, "*")));
	for (int i = 0; i < FIELDS; i++)
		if (h.field[i].p) {
			MUST(inside(h.field[i], text));
			clean(h.field[i]);
		}
	MUST(h.minor == 0 || h.field[FIELD_HOST].p);
	one_reading(&h, text);
	same_again(&h);
	MUST(http_path_is(h.path, "/mcp") == path_is_by_definition(h.path, "/mcp"));
}

/* What has no end gets one. */
static struct slice finished(struct slice in)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, 8 * MIB);
	size_t scanned = 0;

	buf_slice(b, in);
	buf_puts(b, "\r\n\r\n");
	return slice_head(buf_all(b), http_head_end(buf_all(b), &scanned));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };
	size_t scanned = 0, end = http_head_end(in, &scanned);

	MUST(end == end_by_lines(in));
	MUST(end == end_in_pieces(in, 1));
	MUST(end == end_in_pieces(in, 7));
	MUST(http_path_is(in, "/mcp") == path_is_by_definition(in, "/mcp"));
	parsed(end > 0 ? slice_head(in, end) : finished(in));
	return 0;
}
