/*
 * Where the master is: one form, and for every other one a sentence (sandbox-tools.md section 1).
 */
#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "http/https_url.h"

static struct http_origin o;

static void taken(const char *url, const char *host, unsigned port, const char *prefix)
{
	const char *why = "unset";

	assert_int_equal(http_origin_parse(&o, slice_of(url), &why), 0);
	assert_null(why);
	assert_string_equal(o.host, host);
	assert_int_equal(o.port, port);
	assert_string_equal(o.prefix, prefix);
}

static void refused(struct slice url, const char *words)
{
	const char *why = NULL;

	assert_int_equal(http_origin_parse(&o, url, &why), -EINVAL);
	assert_non_null(why);
	if (!strstr(why, words))
		fprintf(stderr, "%.*s %s\n", SLICE(url), why);
	assert_non_null(strstr(why, words));
}

static void test_what_is_taken(void **state)
{
	(void)state;
	taken("https://127.0.0.1:8080", "127.0.0.1", 8080, "");
	taken("https://127.0.0.1:8080/", "127.0.0.1", 8080, "");
	taken("https://127.0.0.1:8080///", "127.0.0.1", 8080, "");
	taken("HTTPS://Master.example", "Master.example", 443, "");
	taken("https://master.example:/", "master.example", 443, "");
	taken("https://[::1]:1", "::1", 1, "");
	taken("https://[2001:db8::7]", "2001:db8::7", 443, "");
	taken("https://h:65535/a/b%20c/", "h", 65535, "/a/b%20c");
}

static void test_http_is_refused_everywhere(void **state)
{
	(void)state;
	refused(LIT("http://127.0.0.1:8080"), "only https:// is spoken");
	refused(LIT("HTTP://localhost"), "only https:// is spoken");
}

static void test_what_is_no_master(void **state)
{
	(void)state;
	refused(LIT(""), "must begin with https://");
	refused(LIT("127.0.0.1:8080"), "must begin with https://");
	refused(LIT("ftp://h"), "must begin with https://");
	refused(LIT("https:/h"), "must begin with https://");
	refused(LIT("https://user@h"), "user name");
	refused(LIT("https://user:secret@h/"), "user name");
	refused(LIT("https://h/?a=b"), "query");
	refused(LIT("https://h?a=b"), "query");
	refused(LIT("https://h/#a"), "query or a fragment");
	refused(LIT("https://h /"), "blanks");
	refused(LIT("https://h\n"), "control");
	refused(LIT("https://h\0"), "control");
	refused(LIT("https://m\xc3\xbcller"), "beyond ASCII");
	refused(LIT("https://"), "is no URL");
	refused(LIT("https:///x"), "is no URL");
	refused(LIT("https://h:0"), "is no URL");
	refused(LIT("https://h:65536"), "is no URL");
	refused(LIT("https://h:-1"), "is no URL");
	refused(LIT("https://h:1:2"), "is no URL");
	refused(LIT("https://::1"), "is no URL");
	refused(LIT("https://[::1"), "is no URL");
	refused(LIT("https://[::1%25lo]"), "is no URL");
	refused(LIT("https://h\"h"), "is no URL");
	refused(LIT("https://h//x"), "is no URL");
	refused(LIT("https://https://h"), "is no URL");
}

static void test_at_most_512_bytes_and_a_host_of_255(void **state)
{
	char url[MASTER_URL_MAX + 2] = "https://h/";

	(void)state;
	memset(url + 10, 'a', sizeof(url) - 11);
	assert_int_equal(strlen(url), MASTER_URL_MAX + 1);
	refused(slice_of(url), "longer than 512 bytes");
	url[MASTER_URL_MAX] = '\0';
	taken(url, "h", 443, url + 9);
	memset(url + 8, 'h', 255);
	strcpy(url + 8 + 255, "/");
	assert_int_equal(http_origin_parse(&o, slice_of(url), &(const char *){ NULL }), 0);
	memset(url + 8, 'h', 256);
	strcpy(url + 8 + 256, "/");
	refused(slice_of(url), "is no URL");
}

static void written(const char *url, const char *again, const char *host)
{
	char mem[600];
	struct buf b;

	assert_int_equal(http_origin_parse(&o, slice_of(url), &(const char *){ NULL }), 0);
	buf_over(&b, mem, sizeof(mem));
	http_origin_put(&o, &b);
	assert_same(buf_all(&b), slice_of(again));
	buf_cut(&b, 0);
	http_origin_put_host(&o, &b);
	assert_same(buf_all(&b), slice_of(host));
}

static void test_it_is_written_again(void **state)
{
	(void)state;
	written("https://h", "https://h", "h");
	written("https://h:443/", "https://h", "h");
	written("HTTPS://h:8443/a/", "https://h:8443/a", "h:8443");
	written("https://[::1]:8080", "https://[::1]:8080", "[::1]:8080");
	written("https://[::1]/x", "https://[::1]/x", "[::1]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_taken),
		cmocka_unit_test(test_http_is_refused_everywhere),
		cmocka_unit_test(test_what_is_no_master),
		cmocka_unit_test(test_at_most_512_bytes_and_a_host_of_255),
		cmocka_unit_test(test_it_is_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
