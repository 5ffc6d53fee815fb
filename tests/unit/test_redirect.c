/*
 * Redirect URIs: what real clients register, what would send a code to the wrong place.
 */
#include "unit.h"

#include "bounds.h"
#include "front/redirect.h"

static void test_what_clients_register_is_taken(void **state)
{
	static const struct {
		const char *uri;
		enum redirect_kind kind;
	} uris[] = {
		{ "https://claude.ai/api/mcp/auth_callback", REDIRECT_WEB },
		{ "https://chatgpt.com/connector_platform_oauth_redirect?x=1", REDIRECT_WEB },
		{ "HTTPS://vscode.dev/redirect", REDIRECT_WEB },
		{ "https://h:8443", REDIRECT_WEB },
		{ "http://localhost:19876/callback", REDIRECT_LOOPBACK },
		{ "http://127.0.0.1/", REDIRECT_LOOPBACK },
		{ "http://127.0.0.1:33418", REDIRECT_LOOPBACK },
		{ "http://[::1]:9/cb?a=b", REDIRECT_LOOPBACK },
		{ "cursor://anysphere.cursor-retrieval/oauth/user-cursor/callback", REDIRECT_APP },
		{ "com.example.app:/oauth", REDIRECT_APP },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(uris); i++)
		assert_int_equal(redirect_kind(slice_of(uris[i].uri)), uris[i].kind);
}

static void test_what_would_leak_a_code_is_refused(void **state)
{
	static const char *const uris[] = { "", "x", ":", "a:", "http://evil.example/cb",
		"http://localhost.evil.example/", "http://127.0.0.1.evil.example/",
		"http://user@localhost/", "https://", "https:", "https:/x", "https://a/#frag",
		"https://a/\r\nX: y", "https://a/ b", "https://a/\"x", "https://a\\@b/", "//a/b",
		"/cb", "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x",
		"file:///etc/passwd", "vbscript:x", "blob:https://a/1", "about:blank", "1a:/x",
		"a b:/x", "https://\xc3\xa4.example/" };

	(void)state;
	for (size_t i = 0; i < COUNT(uris); i++)
		assert_int_equal(redirect_kind(slice_of(uris[i])), REDIRECT_REFUSED);
}

static void test_a_very_long_one_is_refused(void **state)
{
	char uri[REDIRECT_MAX + 1];

	(void)state;
	memset(uri, 'a', sizeof(uri));
	memcpy(uri, "https://h/", 10);
	assert_int_equal(redirect_kind((struct slice){ uri, REDIRECT_MAX }), REDIRECT_WEB);
	assert_int_equal(redirect_kind((struct slice){ uri, sizeof(uri) }), REDIRECT_REFUSED);
}

static bool same(const char *registered, const char *given)
{
	return redirect_same(slice_of(registered), slice_of(given));
}

static void test_a_loopback_port_may_change_per_run(void **state)
{
	(void)state;
	assert_true(same("http://localhost:1/cb", "http://localhost:65535/cb"));
	assert_true(same("http://127.0.0.1/cb", "http://127.0.0.1:8000/cb"));
	assert_true(same("http://[::1]:1/?a=b", "http://[::1]:2/?a=b"));
	assert_false(same("http://localhost:1/cb", "http://127.0.0.1:1/cb"));
	assert_false(same("http://localhost:1/cb", "http://localhost:1/cb/"));
	assert_false(same("http://localhost:1/?a", "http://localhost:1/?b"));
	assert_false(same("http://localhost:1/cb", "http://localhost:1@evil/cb"));
}

static void test_all_else_must_be_equal_byte_by_byte(void **state)
{
	(void)state;
	assert_true(same("https://a/cb?x=1", "https://a/cb?x=1"));
	assert_false(same("https://a/cb", "https://a:443/cb"));
	assert_false(same("https://a/cb", "https://a/cb?x=1"));
	assert_false(same("https://a/cb", "https://A/cb"));
	assert_false(same("https://a:1/cb", "https://a:2/cb"));
	assert_false(same("cursor://x/cb", "cursor://x/cb2"));
}

static void test_people_are_shown_where_the_answer_goes(void **state)
{
	(void)state;
	assert_slice(redirect_shown(LIT("https://claude.ai/api?x=1")), "https://claude.ai");
	assert_slice(redirect_shown(LIT("cursor://a/b")), "cursor:");
	assert_slice(redirect_shown(LIT("http://localhost:1/")), "a program on your own computer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_clients_register_is_taken),
		cmocka_unit_test(test_what_would_leak_a_code_is_refused),
		cmocka_unit_test(test_a_very_long_one_is_refused),
		cmocka_unit_test(test_a_loopback_port_may_change_per_run),
		cmocka_unit_test(test_all_else_must_be_equal_byte_by_byte),
		cmocka_unit_test(test_people_are_shown_where_the_answer_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
