/*
 * What counts as a package: the forms of each world of packages, and what none of them takes.
 */
#include "unit.h"

#include "host/install_words.h"

static void kind_is(enum install_world world, const char *word, enum install_kind kind)
{
	struct install_word is;
	struct install_refusal why;

	if (!install_word(world, slice_of(word), &is, &why))
		fail_msg("%s is refused: %s %.*s", word, why.rule, SLICE(why.bad));
	if (is.kind != kind)
		fail_msg("%s is of kind %d", word, is.kind);
}

#define takes(world, kind, ...)                                                                    \
	do {                                                                                       \
		static const char *const words[] = { __VA_ARGS__ };                                \
		for (size_t i = 0; i < COUNT(words); i++)                                          \
			kind_is((world), words[i], (kind));                                        \
	} while (0)

static void refuses(enum install_world world, const char *word, const char *rule, const char *bad)
{
	struct install_word is;
	struct install_refusal why;

	if (install_word(world, slice_of(word), &is, &why))
		fail_msg("%s is taken", word);
	assert_non_null(strstr(why.rule, rule));
	assert_same(why.bad, slice_of(bad));
}

#define NOT_HELD "must not hold"
#define BEGINNING "must begin with a letter or a digit"

static void test_names_of_npm_and_bun(void **state)
{
	(void)state;
	takes(WORLD_NPM, INSTALL_NAME, "left-pad", "lodash.merge", "a", "7zip-bin", "JSONStream",
		"@scope/name", "@scope/name@^1.2.3", "name@1.2.3-beta.1+build", "name@~1.2",
		"name@>=1.0.0", "name@<2", "name@1.x", "name@*", "name@latest", "user/repository",
		"user/repository#feature/x", "user/repository#semver:^1.2", "github:user/repo",
		"name@github:user/repo#main", "name@npm:@other/name@^2", "gitlab:group/project");
}

static void test_names_of_pip(void **state)
{
	(void)state;
	takes(WORLD_PIP, INSTALL_NAME, "requests", "name==1.*", "name>=1.0,<2", "name[extra]",
		"name[a,b]>=1.0,<2,!=1.5", "name~=1.4.2", "name===1.0+local", "name==1!2.0",
		"zope.interface", "typing_extensions");
}

static void test_names_of_apt(void **state)
{
	(void)state;
	takes(WORLD_APT, INSTALL_NAME, "jq", "g++", "libstdc++6", "name=1.2-3", "name=1:2.3~rc1-4",
		"name:arch", "libc6:i386=2.36-9", "name/bookworm", "name/bookworm-backports",
		"nginx=1.18.*");
}

static void test_names_of_dnf_apk_and_opkg(void **state)
{
	(void)state;
	takes(WORLD_DNF, INSTALL_NAME, "jq", "name-1.2*", "name-1:2.3-4.fc40.x86_64", "name>=1.2",
		"@development-tools", "@nodejs:18/common", "python3.11");
	takes(WORLD_APK, INSTALL_NAME, "jq", "name=~1.2", "name~1.2", "name>1", "name=1.2-r3",
		"name<2", "name@edge", "so:libfoo.so.1", "cmd:bash");
	takes(WORLD_OPKG, INSTALL_NAME, "jq", "kmod-usb-*", "luci-app-sqm", "libstdcpp6");
}

static void test_urls_where_a_manager_takes_them(void **state)
{
	(void)state;
	takes(WORLD_NPM, INSTALL_URL, "https://example.org/x.tgz",
		"git+https://example.org/x.git#v1", "git+ssh://git@example.org/x.git",
		"name@https://example.org/x.tgz",
		"@scope/name@https://example.org/x.tgz?token=a&b=c", "git://example.org/x.git");
	takes(WORLD_PIP, INSTALL_URL, "https://example.org/x-1.0-py3-none-any.whl",
		"git+https://user:secret@example.org/x.git@v1#egg=x&subdirectory=y",
		"name@https://example.org/x.zip", "name[extra]@git+https://example.org/x.git",
		"http://127.0.0.1:8000/x.tar.gz");
	takes(WORLD_DNF, INSTALL_URL, "https://example.org/x.rpm");
	takes(WORLD_OPKG, INSTALL_URL, "http://example.org/x_1.0_all.ipk");
}

static void test_other_urls_are_refused(void **state)
{
	(void)state;
	refuses(WORLD_PIP, "file:///etc/x.whl", "must be a URL of", "");
	refuses(WORLD_PIP, "git+file:///etc/x", "must be a URL of", "");
	refuses(WORLD_NPM, "name@file:///etc/x", "must be a URL of", "");
	refuses(WORLD_NPM, "://x", "must be a URL of", "");
	refuses(WORLD_PIP, "ftp://example.org/x.zip", "must be a URL of", "");
	refuses(WORLD_DNF, "git+https://example.org/x", "must be a URL of", "");
	refuses(WORLD_APT, "https://example.org/x.deb", "takes none", "");
	refuses(WORLD_APK, "https://example.org/x.apk", "takes none", "");
	refuses(WORLD_PIP, "https://example.org/$(id)", NOT_HELD, "$");
	refuses(WORLD_PIP, "https://example.org/a;b", NOT_HELD, ";");
	refuses(WORLD_PIP, "x=https://example.org/a", "must be a URL, or a name", "");
	refuses(WORLD_NPM, "@https://example.org/a", "must be a URL, or a name", "");
	refuses(WORLD_NPM, "a;b@https://example.org/a", NOT_HELD, ";");
	refuses(WORLD_NPM, "git+ssh://-oProxyCommand=x/y", "a host that begins", "");
	refuses(WORLD_NPM, "-x@https://example.org/a", "options", "");
}

static void test_local_files_and_directories_are_paths(void **state)
{
	(void)state;
	takes(WORLD_NPM, INSTALL_PATH, ".", "./x.tgz", "../x", "/w/x", "x.tgz", "a/b/c",
		"dir/x.tar.gz", "a/../../b", "name@x.tgz", "name@/etc/x");
	takes(WORLD_PIP, INSTALL_PATH, ".", "./x.whl", "x.whl", "dir/", "dir/x-1.0.tar.gz", "a/b",
		"/w/x.whl");
	takes(WORLD_APT, INSTALL_PATH, "./x.deb", "x.deb", "/w/x_1.2~3:4_amd64.deb");
	takes(WORLD_DNF, INSTALL_PATH, "./x.rpm", "x.rpm", "/usr/bin/tool");
	takes(WORLD_APK, INSTALL_PATH, "./x.apk", "x.apk", "a/b");
	takes(WORLD_OPKG, INSTALL_PATH, "./x.ipk", "x.ipk");
	takes(WORLD_PIP, INSTALL_PATH, "./caf\xc3\xa9.whl");
}

static void test_extras_stand_behind_the_path(void **state)
{
	static const struct {
		const char *word, *path, *extras;
	} cases[] = {
		{ ".[test]", ".", "[test]" },
		{ "./x.whl[a,b]", "./x.whl", "[a,b]" },
		{ "x.whl[a]", "x.whl", "[a]" },
		{ "./x", "./x", "" },
	};
	struct install_word is;
	struct install_refusal why;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(install_word(WORLD_PIP, slice_of(cases[i].word), &is, &why));
		assert_int_equal(is.kind, INSTALL_PATH);
		assert_same(is.path, slice_of(cases[i].path));
		assert_same(is.extras, slice_of(cases[i].extras));
	}
	refuses(WORLD_PIP, "./x[a;b]", NOT_HELD, ";");
	refuses(WORLD_PIP, "./x]", NOT_HELD, "]");
	refuses(WORLD_NPM, "./x[a]", NOT_HELD, "[");
}

static void test_no_world_takes_an_option(void **state)
{
	(void)state;
	for (enum install_world w = 0; w < WORLDS; w++) {
		refuses(w, "-", "options", "");
		refuses(w, "-y", "options", "");
		refuses(w, "--index-url=https://example.org", "options", "");
	}
}

/* What follows the word's harmless beginning is what a shell would run. */
static void test_no_world_takes_what_a_shell_would_run(void **state)
{
	static const char *const tails[] = { ";", "&", "|", "$", "`", "(", ")", "{", "}", "'", "\"",
		"\\", "\x01", "\x7f", "?" };
	char word[8];

	(void)state;
	for (enum install_world w = 0; w < WORLDS; w++)
		for (size_t i = 0; i < COUNT(tails); i++) {
			snprintf(word, sizeof(word), "a%sb", tails[i]);
			refuses(w, word, NOT_HELD, tails[i]);
			snprintf(word, sizeof(word), "./%s", tails[i]);
			refuses(w, word, NOT_HELD, tails[i]);
			snprintf(word, sizeof(word), "%sa", tails[i]);
			refuses(w, word, BEGINNING, "");
		}
}

static void test_what_one_world_takes_another_does_not(void **state)
{
	(void)state;
	refuses(WORLD_NPM, "name>=1.0", NOT_HELD, ">");
	refuses(WORLD_NPM, "a<b", NOT_HELD, "<");
	refuses(WORLD_PIP, "name^1", NOT_HELD, "^");
	refuses(WORLD_PIP, "@scope", BEGINNING, "");
	refuses(WORLD_PIP, "name@1", NOT_HELD, "@");
	refuses(WORLD_APT, "name>1", NOT_HELD, ">");
	refuses(WORLD_APT, "name*", NOT_HELD, "*");
	refuses(WORLD_OPKG, "name=1", NOT_HELD, "=");
	refuses(WORLD_NPM, "a/b/c#x.tgz", NOT_HELD, "#");
	refuses(WORLD_APK, "!name", BEGINNING, "");
	refuses(WORLD_PIP, ">=1.0", BEGINNING, "");
	refuses(WORLD_NPM, "*", BEGINNING, "");
	refuses(WORLD_NPM, "~/x", BEGINNING, "");
	refuses(WORLD_DNF, "caf\xc3\xa9", NOT_HELD, "\xc3\xa9");
	refuses(WORLD_DNF, "caf\xc3", NOT_HELD, "\xc3");
}

static void test_a_trailing_dash_would_remove_a_package(void **state)
{
	(void)state;
	refuses(WORLD_APT, "jq-", "removes a package", "");
	takes(WORLD_APT, INSTALL_NAME, "jq+");
}

static void test_a_path_cannot_hide_behind_a_name(void **state)
{
	(void)state;
	refuses(WORLD_NPM, "name@./x", "a local file stands alone", "");
	refuses(WORLD_NPM, "name@../x", "a local file stands alone", "");
	refuses(WORLD_NPM, "name@~/x", "a local file stands alone", "");
	refuses(WORLD_NPM, "@scope/name@../x", "a local file stands alone", "");
	refuses(WORLD_NPM, "@../../x", "a local file stands alone", "");
	refuses(WORLD_NPM, "user/..", "a local file stands alone", "");
	refuses(WORLD_NPM, "name@file:x", "must not hold ':' but after", "");
	refuses(WORLD_NPM, "file:x", "must not hold ':' but after", "");
	refuses(WORLD_NPM, "link:x", "must not hold ':' but after", "");
	refuses(WORLD_NPM, "name@workspace:*", "must not hold ':' but after", "");
	refuses(WORLD_NPM, "git@example.org:x", "must not hold ':' but after", "");
	refuses(WORLD_NPM, "npm:file:../x", "a local file stands alone", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_npm_and_bun),
		cmocka_unit_test(test_names_of_pip),
		cmocka_unit_test(test_names_of_apt),
		cmocka_unit_test(test_names_of_dnf_apk_and_opkg),
		cmocka_unit_test(test_urls_where_a_manager_takes_them),
		cmocka_unit_test(test_other_urls_are_refused),
		cmocka_unit_test(test_local_files_and_directories_are_paths),
		cmocka_unit_test(test_extras_stand_behind_the_path),
		cmocka_unit_test(test_no_world_takes_an_option),
		cmocka_unit_test(test_no_world_takes_what_a_shell_would_run),
		cmocka_unit_test(test_what_one_world_takes_another_does_not),
		cmocka_unit_test(test_a_trailing_dash_would_remove_a_package),
		cmocka_unit_test(test_a_path_cannot_hide_behind_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
