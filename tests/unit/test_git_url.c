/*
 * Addresses of repositories: which are paths of this machine, which are not taken at all, and what
 * directory git would clone into.
 */
#include "unit.h"

#include <limits.h>

#include "host/git_url.h"

static void check(const char *url, enum git_place want)
{
	enum git_place place;

	assert_null(git_url_rule(slice_of(url), &place));
	assert_int_equal(place, want);
}

static void test_other_hosts(void **state)
{
	static const char *const urls[] = { "https://h/x", "http://h:80/x", "https://u:p@h/x",
		"ssh://git@h/x", "ssh://h:22/~/x", "git://h/x", "git+ssh://h/x", "ssh+git://h/x",
		"ftp://h/x", "ftps://h/x", "h:x", "git@h:x/y.git", "h:/x", "[::1]:x", "[u@h:22]:x",
		"C:/x", "C:\\x", "h:", "https:/h", "http:x" };

	(void)state;
	for (size_t i = 0; i < COUNT(urls); i++)
		check(urls[i], GIT_HOST);
}

static void test_paths_of_this_machine(void **state)
{
	static const char *const urls[] = { "x", "x.git", "/x", "./x", "../x", "a/b", "a/b:c",
		"./h:x", "/h:x", "x y", "u@h", "a/~", "a@b/c:d", "x.bundle", ".", "..",
		"a/https://h/x" };

	(void)state;
	for (size_t i = 0; i < COUNT(urls); i++)
		check(urls[i], GIT_PATH);
	check("file:///x", GIT_FILE_URL);
	check("file:////x", GIT_FILE_URL);
	check("file:///~/x", GIT_FILE_URL);
	check("file:///a%20b", GIT_FILE_URL);
}

static void test_what_is_refused(void **state)
{
	static const char *const urls[][2] = {
		{ "", "must not be empty" },
		{ "-x", "must not begin with a dash" },
		{ "--upload-pack=x", "must not begin with a dash" },
		{ "ext::sh -c x", "must not name a remote helper (ext::, fd:: and the like)" },
		{ "fd::3", "must not name a remote helper (ext::, fd:: and the like)" },
		{ "https::https://h/x",
			"must not name a remote helper (ext::, fd:: and the like)" },
		{ "::x", "must not name a remote helper (ext::, fd:: and the like)" },
		{ "~/x", "must not begin with ~, which is not expanded here" },
		{ "~u/x", "must not begin with ~, which is not expanded here" },
		{ "https://h/a\nb", "must not hold control characters" },
		{ "a\tb", "must not hold control characters" },
		{ "ssh://-oProxyCommand=x/y",
			"must not name a host or a user that begins with a dash" },
		{ "ssh://u@-oProxyCommand=x/y",
			"must not name a host or a user that begins with a dash" },
		{ "ssh://-oProxyCommand=x@h/y",
			"must not name a host or a user that begins with a dash" },
		{ "ssh://%2doProxyCommand=x@h/y",
			"must not name a host or a user that begins with a dash" },
		{ "u@-oProxyCommand=x:y",
			"must not name a host or a user that begins with a dash" },
		{ "file://h/x", "must be file:///path: a host means nothing there" },
		{ "file://", "must be file:///path: a host means nothing there" },
		{ "file:///a/../b", "must not hold .. in a file:// URL" },
		{ "file:///a/%2e%2E/b", "must not hold .. in a file:// URL" },
		{ "file:///a%2f..%2fb", "must not hold .. in a file:// URL" },
		{ "file:///a%00", "must not hold %00 or be longer than a path can be" },
		{ "file:///a%0ab", "must not hold control characters" },
	};
	static const char *const schemes[] = { "rsync://h/x", "HTTPS://h/x", "FILE:///x", "foo://x",
		"javascript://x", "data://x", "://x", "://" };
	enum git_place place;

	(void)state;
	for (size_t i = 0; i < COUNT(urls); i++) {
		const char *rule = git_url_rule(slice_of(urls[i][0]), &place);

		assert_non_null(rule);
		assert_string_equal(rule, urls[i][1]);
	}
	for (size_t i = 0; i < COUNT(schemes); i++)
		assert_string_equal(git_url_rule(slice_of(schemes[i]), &place),
			"must be a path or begin with https://, http://, ssh://, git://, ftp:// or "
			"file://");
}

static void test_a_file_url_longer_than_a_path_is_refused(void **state)
{
	static char url[PATH_MAX + 64];
	enum git_place place;

	(void)state;
	memset(url, 'a', sizeof(url) - 1);
	memcpy(url, "file:///", 8);
	assert_string_equal(git_url_rule(slice_of(url), &place),
		"must not hold %00 or be longer than a path can be");
}

static void check_path(const char *url, const char *want)
{
	char mem[64];

	assert_true(git_url_path(slice_of(url), mem, sizeof(mem)));
	assert_string_equal(mem, want);
}

static void test_the_path_of_a_file_url_is_decoded_once(void **state)
{
	(void)state;
	check_path("file:///a/b", "/a/b");
	check_path("file:///a%20b", "/a b");
	check_path("file:///a%2Fb%2fc", "/a/b/c");
	check_path("file:///a%2520b", "/a%20b");
	check_path("file:///a%2", "/a%2");
	check_path("file:///a%zz", "/a%zz");
	check_path("file:///a+b", "/a+b");
	check_path("file:///a#b?c", "/a#b?c");
	check_path("file:////a", "//a");
}

static void test_the_directory_is_named_as_git_would(void **state)
{
	static const char *const urls[][2] = {
		{ "https://h/x", "x" },
		{ "https://h/x.git", "x" },
		{ "https://h/a/b/x.git/", "x" },
		{ "https://h/x/.git", "x" },
		{ "https://h/x/.git//", "x" },
		{ "https://h/x.git/.git", "x" },
		{ "https://h/x///", "x" },
		{ "https://u:p@h/x.git", "x" },
		{ "https://u:p@h", "h" },
		{ "https://h:8080/", "h" },
		{ "https://h", "h" },
		{ "ssh://git@h/~/x.git", "x" },
		{ "git@h:x.git", "x" },
		{ "git@h:me/x.git", "x" },
		{ "h:2222/x", "x" },
		{ "/w/x", "x" },
		{ "x", "x" },
		{ "x.bundle", "x" },
		{ "./x.git", "x" },
		{ "a b.git", "a b" },
		{ "/", "" },
		{ "https://", "" },
		{ "https://h/.git", "h" },
		{ ".git", "" },
		{ "..", ".." },
		{ "file:///w/x.git", "x" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(urls); i++)
		assert_same(git_url_name(slice_of(urls[i][0])), slice_of(urls[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_hosts),
		cmocka_unit_test(test_paths_of_this_machine),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_file_url_longer_than_a_path_is_refused),
		cmocka_unit_test(test_the_path_of_a_file_url_is_decoded_once),
		cmocka_unit_test(test_the_directory_is_named_as_git_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
