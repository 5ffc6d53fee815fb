/*
 * Names for branches, tags and commits: what git-check-ref-format(1) forbids, and what an option or
 * a refspec would look like. That git thinks the same is shown in tests/e2e/test_git_names.py.
 */
#include "unit.h"

#include "host/git_ref.h"

static const char empty[] = "must not be empty";
static const char dash[] = "must not begin with a dash";
static const char colon[] = "must be one name, not a refspec with a colon";
static const char bad[] = "must not hold blanks, control characters or any of ~ ^ ? * [ \\";
static const char dots[] = "must not hold two dots in a row";
static const char at[] = "must not be @ or hold @{";
static const char dot_end[] = "must not end with a dot";
static const char slashes[] = "must not begin or end with a slash or hold two in a row";
static const char dot_start[] = "must not hold a part that begins with a dot";
static const char lock[] = "must not hold a part that ends with .lock";

static const char *const good[] = { "main", "a", "feature/x", "a.b", "v1.0-rc1", "a-b", "a/-b",
	"a+b", "a@b", "@a", "a{b}", "@/a", "caf\xc3\xa9", "\xf0\x9f\x98\x80", "a'b", "a\"b",
	"a$(b)", "a;b", "a|b", "lock", "a.locks", "HEADS", "head", "a/HEAD", "refs/heads/a",
	"0123456", "a%b", "a=b", "a,b", "a!", "#1" };

static const struct {
	const char *name, *rule;
} refused[] = {
	{ "", empty },
	{ "-", dash },
	{ "-f", dash },
	{ "--edit-description", dash },
	{ ":dev", colon },
	{ "a:b", colon },
	{ "+a:b", colon },
	{ "a b", bad },
	{ " a", bad },
	{ "a\tb", bad },
	{ "a\nb", bad },
	{ "a\x7f", bad },
	{ "a~b", bad },
	{ "^a", bad },
	{ "a?", bad },
	{ "a*", bad },
	{ "a[b", bad },
	{ "a\\b", bad },
	{ "..", dots },
	{ "a..b", dots },
	{ "a/../b", dots },
	{ "@", at },
	{ "a@{b", at },
	{ "@{-1}", at },
	{ ".", dot_end },
	{ "a.", dot_end },
	{ "a/", slashes },
	{ "/", slashes },
	{ "/a", slashes },
	{ "a//b", slashes },
	{ ".a", dot_start },
	{ "a/.b", dot_start },
	{ ".lock", dot_start },
	{ "a.lock", lock },
	{ "a.lock/b", lock },
	{ "a/b.lock", lock },
};

static void test_names_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_null(git_branch_rule(slice_of(good[i])));
		assert_null(git_refspec_rule(slice_of(good[i])));
		assert_null(git_checkout_rule(slice_of(good[i])));
	}
}

static void test_what_is_no_name_is_refused_with_the_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		const char *rule = git_branch_rule(slice_of(refused[i].name));

		assert_non_null(rule);
		assert_string_equal(rule, refused[i].rule);
	}
}

static void test_a_name_with_nul_is_refused(void **state)
{
	(void)state;
	assert_string_equal(git_branch_rule(LIT("a\0b")), bad);
}

static void test_head_is_no_branch_but_can_be_pushed_and_checked_out(void **state)
{
	(void)state;
	assert_string_equal(git_branch_rule(LIT("HEAD")), "must not be HEAD");
	assert_null(git_refspec_rule(LIT("HEAD")));
	assert_null(git_checkout_rule(LIT("HEAD")));
}

static void test_a_refspec_that_forces_is_refused(void **state)
{
	(void)state;
	assert_string_equal(
		git_refspec_rule(LIT("+main")), "must be one name, not a refspec that forces");
	assert_null(git_branch_rule(LIT("+main")));
}

static void test_steps_back_can_be_checked_out(void **state)
{
	static const char *const names[] = { "-", "HEAD~1", "HEAD~", "HEAD^", "main^2~3", "v1.0^0",
		"abc123~10", "main~~", "main^^" };
	static const char *const none[] = { "~1", "^", "main^{tree}", "main~a", "main^:x", "a ~1",
		"-~1", "--", "-1", ".", "@{-1}", "@{-1}~1", "main~1:", ":/text" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		assert_null(git_checkout_rule(slice_of(names[i])));
	for (size_t i = 0; i < COUNT(none); i++)
		assert_non_null(git_checkout_rule(slice_of(none[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_taken),
		cmocka_unit_test(test_what_is_no_name_is_refused_with_the_rule),
		cmocka_unit_test(test_a_name_with_nul_is_refused),
		cmocka_unit_test(test_head_is_no_branch_but_can_be_pushed_and_checked_out),
		cmocka_unit_test(test_a_refspec_that_forces_is_refused),
		cmocka_unit_test(test_steps_back_can_be_checked_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
