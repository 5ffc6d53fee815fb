/*
 * Lines of input: configuration, then fields of a request. Whatever they are, what goes out names
 * only what was allowed and cannot break out of a field or of a quoted string; networks hold what
 * plain bit arithmetic says.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "front/cidr.h"
#include "front/origin.h"
#include "http/authority.h"
#include "http/https_url.h"

enum { TEXTS = 5, TEXT_MAX = 1024 };

static char texts[TEXTS][TEXT_MAX];

static const char *text_take(struct slice *in, int i)
{
	struct slice line = str_split(in, '\n');

	if (line.n == 0 || str_c(line, texts[i], TEXT_MAX) < 0)
		return NULL;
	return texts[i];
}

static bool only(struct slice s, const char *marks)
{
	for (size_t i = 0; i < s.n; i++) {
		bool alnum = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
			     (s.p[i] >= '0' && s.p[i] <= '9');

		if (!alnum && (!s.p[i] || !strchr(marks, s.p[i])))
			return false;
	}
	return true;
}

static void authorities(struct slice s)
{
	struct authority a;
	struct slice path;

	if (authority_parse(s, &a)) {
		MUST(s.n <= AUTHORITY_MAX && a.host.n > 0 && only(s, ".-_:[]"));
		MUST(a.port >= 0 && a.port <= 65535);
		MUST(authority_same_host(&a, &a));
	}
	if (authority_parse_origin(s, &a)) {
		MUST(only(s, "+.-_:[]/") && authority_same_origin(&a, &a));
		MUST(authority_parse_url(s, &a, &path) ==
			(http_same(a.scheme, "http") || http_same(a.scheme, "https")));
	}
	if (authority_parse_url(s, &a, &path)) {
		MUST(path.n == 0 || path.p[0] == '/');
		MUST(!str_has(s, '"') && !str_has(s, ' ') && !str_has(s, '?'));
	}
}

/* A URL of a master is written again as one that means the same. */
static void masters(struct slice s)
{
	struct http_origin o, again;
	const char *why;
	char mem[MASTER_URL_MAX + 16];
	struct buf b;

	if (http_origin_parse(&o, s, &why) < 0) {
		MUST(why && *why);
		return;
	}
	MUST(!why && o.host[0] && o.port > 0 && o.port <= 65535 && s.n <= MASTER_URL_MAX);
	MUST(!str_has(slice_of(o.host), '@') && !strpbrk(o.prefix, "?#\" \r\n"));
	buf_over(&b, mem, sizeof(mem));
	http_origin_put(&o, &b);
	MUST(!b.failed && http_origin_parse(&again, buf_all(&b), &why) == 0);
	MUST(strcmp(o.host, again.host) == 0 && strcmp(o.prefix, again.prefix) == 0);
	MUST(o.port == again.port);
}

static bool bits_equal(const unsigned char *a, const unsigned char *b, int bits)
{
	for (int i = 0; i < bits; i++)
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

static void networks(struct slice s)
{
	unsigned char addr[16], again[16];
	struct slice rest = s, net = str_split(&rest, ' ');
	struct cidr c;

	if (address_parse(rest, addr))
		MUST(address_parse_hop(rest, again) && memcmp(addr, again, 16) == 0);
	if (!cidr_parse(net, &c) || !address_parse_hop(rest, addr))
		return;
	MUST(c.bits >= 0 && c.bits <= 128);
	MUST(cidr_has(&c, c.addr));
	MUST(cidr_has(&c, addr) == bits_equal(c.addr, addr, c.bits));
}

/* Lines "Name: value" CR LF, nothing else. */
static void whole_fields(struct slice s)
{
	MUST(s.n == 0 || s.p[s.n - 1] == '\n');
	while (s.n > 0) {
		struct slice line = str_split(&s, '\n'), name = str_split(&line, ':');

		MUST(line.n > 2 && line.p[line.n - 1] == '\r' && line.p[0] == ' ');
		MUST(name.n > 0 && only(name, "-"));
		for (size_t i = 0; i + 1 < line.n; i++)
			MUST(line.p[i] >= ' ' && line.p[i] < 0x7f);
	}
}

static void answered(const struct http_head *h, const unsigned char peer[16])
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);
	unsigned char client[16];

	origin_put_cors(h, b);
	origin_put_preflight(h, b);
	whole_fields(buf_all(b));
	MUST(b->len < 1 * KIB);
	MUST(str_starts(buf_all(b), "Access-Control-Allow-Origin") ==
		(h->field[FIELD_ORIGIN].p && origin_ok(h)));
	buf_reset(b, true);
	origin_put_url(h, peer, b);
	MUST(b->len > 0 && b->len <= PUBLIC_URL_MAX);
	MUST(http_same(slice_head(buf_all(b), 4), "http"));
	for (size_t i = 0; i < b->len; i++)
		MUST(b->p[i] > ' ' && b->p[i] < 0x7f && b->p[i] != '"' && b->p[i] != '\\');
	MUST(b->p[b->len - 1] != '/');
	origin_client(h, peer, client);
	MUST(h->field[FIELD_FORWARDED_FOR].p || memcmp(client, peer, 16) == 0);
	origin_host_ok(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum http_field fields[] = { FIELD_HOST, FIELD_ORIGIN, FIELD_FORWARDED_FOR,
		FIELD_FORWARDED_HOST, FIELD_FORWARDED_PROTO, FIELD_REQUEST_HEADERS };
	static const unsigned char loopback[16] = { [15] = 1 }, other[16] = { 0x20, 1 };
	struct slice in = { (const char *)data, size }, bad = { 0 }, line;
	struct origin_config c = { 0 };
	struct http_head h = { 0 };

	authorities(in);
	masters(in);
	networks(in);
	c.public_url = text_take(&in, 0);
	c.domain = text_take(&in, 1);
	c.allowed_origins = text_take(&in, 2);
	c.allowed_hosts = text_take(&in, 3);
	c.trusted_proxies = text_take(&in, 4);
	if (origin_setup(&c, &bad) < 0) {
		MUST(bad.n > 0);
		c = (struct origin_config){ 0 };
		MUST(origin_setup(&c, &bad) == 0);
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields) && in.n > 0; i++) {
		line = str_split(&in, '\n');
		h.field[fields[i]] = line;
		authorities(line);
		masters(line);
		networks(line);
	}
	answered(&h, loopback);
	answered(&h, other);
	return 0;
}
