/*
 * Where requests may come from and under which name we are known: authorities, networks, lists,
 * forwarded fields, CORS.
 */
#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "front/cidr.h"
#include "front/origin.h"
#include "http/authority.h"

static const unsigned char loopback4[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
static const unsigned char loopback6[16] = { [15] = 1 };
static const unsigned char stranger[16] = { [10] = 0xff, [11] = 0xff, [12] = 203, [14] = 113, 9 };

static void setup(struct origin_config c)
{
	struct slice bad;

	assert_int_equal(origin_setup(&c, &bad), 0);
}

static void refused(struct origin_config c, const char *word)
{
	struct slice bad = { 0 };

	assert_int_equal(origin_setup(&c, &bad), -EINVAL);
	assert_same(bad, slice_of(word));
}

static struct http_head with(enum http_field f, const char *value)
{
	struct http_head h = { 0 };

	h.field[f] = value ? slice_of(value) : (struct slice){ 0 };
	return h;
}

/* --- authorities --- */

static void authority(const char *text, const char *host, int port)
{
	struct authority a;

	assert_true(authority_parse(slice_of(text), &a));
	assert_same(a.host, slice_of(host));
	assert_int_equal(a.port, port);
}

static void test_host_and_port_are_taken_apart(void **state)
{
	static const char *const bad[] = { "", ":80", "a:b", "a:80:80", "a:0", "a:65536", "a:-1",
		"a:+1", "a: 1", "a b", "a\"b", "a,b", "a/b", "a@b", "[::1", "[::1]x", "[]", "[a]",
		"[127.0.0.1]", "::1", "\xc3\xa9", "a\nb", "a:99999999999999999999" };
	char long_name[AUTHORITY_MAX + 2];
	struct authority a;

	(void)state;
	authority("example.com", "example.com", 0);
	authority("example.com:", "example.com", 0);
	authority("EXAMPLE-1.com:8080", "EXAMPLE-1.com", 8080);
	authority("my_box:1", "my_box", 1);
	authority("127.0.0.1:65535", "127.0.0.1", 65535);
	authority("[::1]", "::1", 0);
	authority("[fd00::1]:443", "fd00::1", 443);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(authority_parse(slice_of(bad[i]), &a));
	assert_false(authority_parse(LIT("a\0b"), &a));
	memset(long_name, 'a', sizeof(long_name));
	assert_true(authority_parse((struct slice){ long_name, AUTHORITY_MAX }, &a));
	assert_false(authority_parse((struct slice){ long_name, AUTHORITY_MAX + 1 }, &a));
}

static bool same_origin(const char *a, const char *b)
{
	struct authority x, y;

	assert_true(authority_parse_origin(slice_of(a), &x));
	assert_true(authority_parse_origin(slice_of(b), &y));
	return authority_same_origin(&x, &y);
}

static void test_origins_are_compared_with_their_default_ports(void **state)
{
	static const char *const bad[] = { "", "null", "http://", "http:/a", "://a", "a", "*",
		"http://a/", "http://a http://b", "ht tp://a", "http://a?x", "http://u@a" };
	struct authority a;

	(void)state;
	assert_true(same_origin("https://a.b", "HTTPS://A.B:443"));
	assert_true(same_origin("http://a", "http://a:80"));
	assert_true(same_origin("app://obsidian.md", "app://obsidian.md"));
	assert_false(same_origin("http://a", "https://a"));
	assert_false(same_origin("http://a", "http://a:81"));
	assert_false(same_origin("http://a", "http://b"));
	assert_false(same_origin("http://a.example", "http://a.example.evil"));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(authority_parse_origin(slice_of(bad[i]), &a));
}

/* --- addresses --- */

static bool in_network(const char *network, const char *address)
{
	unsigned char addr[16];
	struct cidr c;

	assert_true(cidr_parse(slice_of(network), &c));
	assert_true(address_parse(slice_of(address), addr));
	return cidr_has(&c, addr);
}

static void test_networks_hold_their_addresses(void **state)
{
	static const char *const bad[] = { "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0.0/x", "10.0.0.1/8", "10.0.0/8", "fd00::/129", "fd00::1/8", "a", "[::1]",
		"10.0.0.0/8/8", "10.0.0.256", "fe80::1%eth0", "010.0.0.1/99",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc" };
	struct cidr c;

	(void)state;
	assert_true(in_network("10.0.0.0/8", "10.255.1.2"));
	assert_false(in_network("10.0.0.0/8", "11.0.0.0"));
	assert_true(in_network("10.0.0.0/8", "::ffff:10.1.2.3"));
	assert_true(in_network("10.16.0.0/12", "10.31.255.255"));
	assert_false(in_network("10.16.0.0/12", "10.32.0.0"));
	assert_true(in_network("0.0.0.0/0", "255.255.255.255"));
	assert_false(in_network("0.0.0.0/0", "fd00::1"));
	assert_true(in_network("::/0", "1.2.3.4"));
	assert_true(in_network("192.0.2.7", "192.0.2.7"));
	assert_false(in_network("192.0.2.7", "192.0.2.6"));
	assert_true(in_network("fd00:1::/33", "fd00:1:7fff::1"));
	assert_false(in_network("fd00:1::/33", "fd00:1:8000::1"));
	assert_true(in_network("fd00::1", "fd00::1"));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(cidr_parse(slice_of(bad[i]), &c));
}

static void client_is(const unsigned char peer[16], const char *forwarded, const char *want)
{
	struct http_head h = with(FIELD_FORWARDED_FOR, forwarded);
	unsigned char got[16], addr[16];

	assert_true(address_parse(slice_of(want), addr));
	origin_client(&h, peer, got);
	assert_memory_equal(got, addr, 16);
}

static void test_forwarded_addresses_count_from_trusted_proxies_only(void **state)
{
	(void)state;
	setup((struct origin_config){ 0 });
	client_is(stranger, "1.2.3.4", "203.0.113.9");
	client_is(loopback4, NULL, "127.0.0.1");
	client_is(loopback4, "1.2.3.4", "1.2.3.4");
	client_is(loopback6, "1.2.3.4", "1.2.3.4");
	client_is(loopback6, "fd00::7", "fd00::7");
	client_is(loopback4, "[fd00::7]:1234", "fd00::7");
	client_is(loopback4, "1.2.3.4:1234", "1.2.3.4");
	client_is(loopback4, "6.6.6.6, 1.2.3.4", "1.2.3.4");
	client_is(loopback4, "6.6.6.6,1.2.3.4 , 127.0.0.1", "1.2.3.4");
	client_is(loopback4, "1.2.3.4, unknown", "127.0.0.1");
	client_is(loopback4, "junk, 127.0.0.9", "127.0.0.9");
	client_is(loopback4, "", "127.0.0.1");
	client_is(loopback4, ",,", "127.0.0.1");
	client_is(loopback4, "127.0.0.1, ::1", "127.0.0.1");
	client_is(loopback4, "[fd00::7", "127.0.0.1");
	client_is(loopback4, "[1.2.3.4]", "127.0.0.1");
}

static void test_configured_proxies_replace_loopback(void **state)
{
	(void)state;
	setup((struct origin_config){ .trusted_proxies = " 203.0.113.0/24 ,, 10.0.0.0/8" });
	client_is(loopback4, "1.2.3.4", "127.0.0.1");
	client_is(stranger, "1.2.3.4", "1.2.3.4");
	client_is(stranger, "6.6.6.6, 1.2.3.4, 10.1.1.1, 203.0.113.77", "1.2.3.4");
	refused((struct origin_config){ .trusted_proxies = "10.0.0.0/8, ten" }, "ten");
}

static void test_proxies_beyond_the_table_are_an_error(void **state)
{
	char list[16 * (PROXIES_MAX + 1)];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < PROXIES_MAX; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "10.0.0.%d,", i);
	setup((struct origin_config){ .trusted_proxies = list });
	snprintf(list + n, sizeof(list) - n, "10.1.0.0");
	refused((struct origin_config){ .trusted_proxies = list }, "10.1.0.0");
}

/* --- Origin and Host --- */

static bool allowed(const char *value)
{
	struct http_head h = with(FIELD_ORIGIN, value);

	return origin_ok(&h);
}

static void test_loopback_origins_are_allowed(void **state)
{
	(void)state;
	setup((struct origin_config){ 0 });
	assert_true(allowed(NULL));
	assert_true(allowed("http://localhost"));
	assert_true(allowed("http://localhost:6274"));
	assert_true(allowed("https://LOCALHOST:1"));
	assert_true(allowed("http://127.0.0.1:3000"));
	assert_true(allowed("http://127.8.9.10"));
	assert_true(allowed("http://[::1]:3000"));
}

static void test_other_origins_are_not(void **state)
{
	static const char *const evil[] = { "", "null", "*", "http://evil.example",
		"http://localhost.evil.example", "http://evil.example:80",
		"http://127.0.0.1.evil.example", "http://localhost:6274/",
		"http://localhost http://evil.example", "localhost", "file://", "app://localhost",
		"http://[::2]", "http://0.0.0.0", "http://128.0.0.1",
		"http://localhost@evil.example", "http://evil.example#http://localhost" };

	(void)state;
	setup((struct origin_config){ 0 });
	for (size_t i = 0; i < COUNT(evil); i++)
		assert_false(allowed(evil[i]));
}

/* Host decides nothing: evil Host and evil Origin come together. */
static void test_the_origin_is_not_derived_from_host(void **state)
{
	struct http_head h = with(FIELD_HOST, "evil.example");

	(void)state;
	setup((struct origin_config){ 0 });
	h.field[FIELD_ORIGIN] = LIT("http://evil.example");
	assert_false(origin_ok(&h));
	assert_true(origin_host_ok(&h));
}

static void test_the_public_url_and_the_list_are_allowed(void **state)
{
	(void)state;
	setup((struct origin_config){ .public_url = "https://mcp.example.com/base/",
		.allowed_origins = "https://app.example.com/, app://obsidian.md" });
	assert_true(allowed("https://mcp.example.com"));
	assert_false(allowed("http://mcp.example.com"));
	assert_false(allowed("https://mcp.example.com:8443"));
	assert_true(allowed("https://app.example.com"));
	assert_true(allowed("app://obsidian.md"));
	assert_false(allowed("https://other.example.com"));
	setup((struct origin_config){ .domain = "mcp.example.com" });
	assert_true(allowed("https://mcp.example.com"));
	assert_false(allowed("https://app.example.com"));
	refused((struct origin_config){ .allowed_origins = "https://a, *" }, "*");
	refused((struct origin_config){ .allowed_origins = "example.com" }, "example.com");
	refused((struct origin_config){ .allowed_origins = "/" }, "/");
}

static bool host_allowed(const char *value)
{
	struct http_head h = with(FIELD_HOST, value);

	return origin_host_ok(&h);
}

static void test_a_list_of_hosts_is_kept(void **state)
{
	(void)state;
	setup((struct origin_config){ .allowed_hosts = "mcp.example.com, [fd00::1] ,box:80" });
	assert_true(host_allowed("mcp.example.com"));
	assert_true(host_allowed("MCP.example.com:8080"));
	assert_true(host_allowed("[FD00::1]:8080"));
	assert_true(host_allowed("box"));
	assert_false(host_allowed("localhost"));
	assert_false(host_allowed("mcp.example.com.evil"));
	assert_false(host_allowed("mcp.example.com, evil"));
	assert_false(host_allowed(""));
	assert_false(host_allowed(NULL));
	refused((struct origin_config){ .allowed_hosts = "a, b/c" }, "b/c");
	setup((struct origin_config){ 0 });
	assert_true(host_allowed("anything"));
	assert_true(host_allowed(NULL));
}

/* --- public URL --- */

static void url_is(struct http_head h, const unsigned char peer[16], const char *want)
{
	char mem[1024];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	origin_put_url(&h, peer, &b);
	assert_same(buf_all(&b), slice_of(want));
}

static struct http_head forwarded(const char *host, const char *fwd_host, const char *proto)
{
	struct http_head h = with(FIELD_HOST, host);

	if (fwd_host)
		h.field[FIELD_FORWARDED_HOST] = slice_of(fwd_host);
	if (proto)
		h.field[FIELD_FORWARDED_PROTO] = slice_of(proto);
	return h;
}

static void test_a_configured_url_wins(void **state)
{
	struct http_head h = forwarded("evil", "evil", "http");

	(void)state;
	setup((struct origin_config){ .public_url = "https://h.example/base//", .domain = "d" });
	url_is(h, loopback4, "https://h.example/base");
	setup((struct origin_config){ .public_url = "http://h.example:8080/" });
	url_is(h, stranger, "http://h.example:8080");
	setup((struct origin_config){ .domain = "mcp.example.com:8443" });
	url_is(h, stranger, "https://mcp.example.com:8443");
}

static void test_a_server_with_tls_is_found_by_https(void **state)
{
	(void)state;
	setup((struct origin_config){ .listen_host = "0.0.0.0", .listen_port = 8443, .tls = true });
	url_is(forwarded("box.lan:8443", NULL, NULL), stranger, "https://box.lan:8443");
	url_is(forwarded(NULL, NULL, NULL), stranger, "https://localhost:8443");
	url_is(forwarded("box.lan", "h.example", "http"), stranger, "https://box.lan");
	url_is(forwarded("box.lan", "h.example", "http"), loopback4, "http://h.example");
	url_is(forwarded("box.lan", NULL, "https"), loopback4, "https://box.lan");
	url_is(forwarded("box.lan", NULL, "gopher"), loopback4, "https://box.lan");
	setup((struct origin_config){ .public_url = "http://h.example", .tls = true });
	url_is(forwarded("box.lan", NULL, NULL), stranger, "http://h.example");
	setup((struct origin_config){ 0 });
	url_is(forwarded("box.lan", NULL, NULL), stranger, "http://box.lan");
}

static void test_a_bad_url_is_refused(void **state)
{
	static const char *const bad[] = { "h.example", "ftp://h", "https://", "https://h?x",
		"https://h/#x", "https://h/\"", "https://h/a b", "https:///x", "https://h:x" };
	char long_url[PUBLIC_URL_MAX + 2] = "https://h/";

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refused((struct origin_config){ .public_url = bad[i] }, bad[i]);
	refused((struct origin_config){ .domain = "https://h" }, "https://h");
	refused((struct origin_config){ .domain = "a\"b" }, "a\"b");
	memset(long_url + 10, 'a', sizeof(long_url) - 11);
	refused((struct origin_config){ .public_url = long_url }, long_url);
}

static void test_else_the_request_tells(void **state)
{
	(void)state;
	setup((struct origin_config){ .listen_host = "192.0.2.1", .listen_port = 8080 });
	url_is(forwarded("box:8080", NULL, NULL), stranger, "http://box:8080");
	url_is(forwarded("mcp.example.com", NULL, "https"), loopback4, "https://mcp.example.com");
	url_is(forwarded("mcp.example.com", NULL, "https, http"), loopback6,
		"https://mcp.example.com");
	url_is(forwarded("inner:8080", "mcp.example.com, inner", "HTTPS"), loopback4,
		"https://mcp.example.com");
	url_is(forwarded("box", "evil.example", "https"), stranger, "http://box");
}

static void test_nothing_is_reflected_that_breaks_out(void **state)
{
	(void)state;
	setup((struct origin_config){ .listen_host = "192.0.2.1", .listen_port = 8080 });
	url_is(forwarded("box", "evil\", error=\"x", NULL), loopback4, "http://box");
	url_is(forwarded("a\"b", NULL, NULL), stranger, "http://192.0.2.1:8080");
	url_is(forwarded("a b", NULL, NULL), stranger, "http://192.0.2.1:8080");
	url_is(forwarded("", NULL, NULL), stranger, "http://192.0.2.1:8080");
	url_is(forwarded(NULL, NULL, NULL), stranger, "http://192.0.2.1:8080");
	url_is(forwarded("box", NULL, "javascript"), loopback4, "http://box");
}

static void test_our_own_address_is_one_to_come_to(void **state)
{
	static const struct {
		const char *host, *want;
	} rows[] = {
		{ NULL, "http://127.0.0.1:8080" },
		{ "0.0.0.0", "http://localhost:8080" },
		{ "::", "http://localhost:8080" },
		{ "[::]", "http://localhost:8080" },
		{ "localhost", "http://localhost:8080" },
		{ "fd00::1", "http://[fd00::1]:8080" },
		{ "[fd00::1]", "http://[fd00::1]:8080" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		setup((struct origin_config){ .listen_host = rows[i].host, .listen_port = 8080 });
		url_is(forwarded(NULL, NULL, NULL), stranger, rows[i].want);
	}
}

/* --- CORS --- */

static void test_cors_names_the_origin_that_asked(void **state)
{
	char mem[512];
	struct buf b;
	struct http_head h = with(FIELD_ORIGIN, "http://localhost:6274");

	(void)state;
	setup((struct origin_config){ 0 });
	buf_over(&b, mem, sizeof(mem));
	origin_put_cors(&h, &b);
	assert_slice(buf_all(&b),
		"Access-Control-Allow-Origin: http://localhost:6274\r\n"
		"Vary: Origin\r\n"
		"Access-Control-Expose-Headers: Mcp-Session-Id, MCP-Protocol-Version, "
		"WWW-Authenticate, Retry-After\r\n");
	buf_over(&b, mem, sizeof(mem));
	h = with(FIELD_ORIGIN, "http://evil.example");
	origin_put_cors(&h, &b);
	h = with(FIELD_ORIGIN, NULL);
	origin_put_cors(&h, &b);
	assert_int_equal(b.len, 0);
}

static void preflight(const char *asked, const char *want)
{
	char mem[1024], text[1024];
	struct buf b;
	struct http_head h = with(FIELD_REQUEST_HEADERS, asked);

	buf_over(&b, mem, sizeof(mem));
	origin_put_preflight(&h, &b);
	snprintf(text, sizeof(text),
		"Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS\r\n%s"
		"Access-Control-Max-Age: 600\r\n",
		want);
	assert_same(buf_all(&b), slice_of(text));
}

static void test_a_preflight_allows_what_it_asks_for_and_we_know(void **state)
{
	(void)state;
	preflight(NULL, "");
	preflight("", "");
	preflight("x-evil", "");
	preflight("content-type", "Access-Control-Allow-Headers: Content-Type\r\n");
	preflight("authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-"
		  "name,"
		  "last-event-id",
		"Access-Control-Allow-Headers: Authorization, Content-Type, Last-Event-ID, "
		"MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name\r\n");
	preflight(" ACCEPT ,x-other, Accept", "Access-Control-Allow-Headers: Accept\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_and_port_are_taken_apart),
		cmocka_unit_test(test_origins_are_compared_with_their_default_ports),
		cmocka_unit_test(test_networks_hold_their_addresses),
		cmocka_unit_test(test_forwarded_addresses_count_from_trusted_proxies_only),
		cmocka_unit_test(test_configured_proxies_replace_loopback),
		cmocka_unit_test(test_proxies_beyond_the_table_are_an_error),
		cmocka_unit_test(test_loopback_origins_are_allowed),
		cmocka_unit_test(test_other_origins_are_not),
		cmocka_unit_test(test_the_origin_is_not_derived_from_host),
		cmocka_unit_test(test_the_public_url_and_the_list_are_allowed),
		cmocka_unit_test(test_a_list_of_hosts_is_kept),
		cmocka_unit_test(test_a_configured_url_wins),
		cmocka_unit_test(test_a_server_with_tls_is_found_by_https),
		cmocka_unit_test(test_a_bad_url_is_refused),
		cmocka_unit_test(test_else_the_request_tells),
		cmocka_unit_test(test_nothing_is_reflected_that_breaks_out),
		cmocka_unit_test(test_our_own_address_is_one_to_come_to),
		cmocka_unit_test(test_cors_names_the_origin_that_asked),
		cmocka_unit_test(test_a_preflight_allows_what_it_asks_for_and_we_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
