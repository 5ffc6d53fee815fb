/*
 * The Authorization field against the token.
 */
#include "unit.h"

#include "front/auth.h"

#define TOKEN "correct-horse-battery-staple"

static int set_token(void **state)
{
	(void)state;
	auth_set_token(LIT(TOKEN));
	return 0;
}

static void test_the_scheme_is_known_in_any_case(void **state)
{
	(void)state;
	assert_true(auth_bearer_ok(LIT("Bearer " TOKEN)));
	assert_true(auth_bearer_ok(LIT("bearer " TOKEN)));
	assert_true(auth_bearer_ok(LIT("BEARER " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Basic " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearers " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Beare " TOKEN)));
}

static void test_blanks_around_the_token_are_dropped(void **state)
{
	(void)state;
	assert_true(auth_bearer_ok(LIT("Bearer   " TOKEN)));
	assert_true(auth_bearer_ok(LIT("Bearer \t" TOKEN "\t ")));
	assert_true(auth_bearer_ok(LIT("Bearer\t" TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearer" TOKEN)));
	assert_false(auth_bearer_ok(LIT(" Bearer " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearer: " TOKEN)));
}

static void test_only_the_whole_token_opens(void **state)
{
	(void)state;
	assert_false(auth_bearer_ok((struct slice){ 0 }));
	assert_false(auth_bearer_ok(LIT("")));
	assert_false(auth_bearer_ok(LIT("Bearer")));
	assert_false(auth_bearer_ok(LIT("Bearer ")));
	assert_false(auth_bearer_ok(LIT(TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearer correct-horse-battery-stapl")));
	assert_false(auth_bearer_ok(LIT("Bearer " TOKEN "!")));
	assert_false(auth_bearer_ok(LIT("Bearer " TOKEN "====")));
	assert_false(auth_bearer_ok(LIT("Bearer " TOKEN " " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearer " TOKEN ", Bearer " TOKEN)));
	assert_false(auth_bearer_ok(LIT("Bearer Correct-horse-battery-staple")));
}

/* fault 31 of the reference */
static void test_bytes_above_ascii_are_just_wrong(void **state)
{
	(void)state;
	assert_false(auth_bearer_ok(LIT("Bearer \xc3\xa9")));
	assert_false(auth_bearer_ok(LIT("Bearer \xff\x80" TOKEN)));
	auth_set_token(LIT("schl\xc3\xbcssel-aus-bytes"));
	assert_true(auth_bearer_ok(LIT("Bearer schl\xc3\xbcssel-aus-bytes")));
}

static void test_a_rotated_token_replaces_the_old(void **state)
{
	(void)state;
	auth_set_token(LIT("another-token-of-ours"));
	assert_false(auth_bearer_ok(LIT("Bearer " TOKEN)));
	assert_true(auth_bearer_ok(LIT("Bearer another-token-of-ours")));
}

static void test_without_a_token_nothing_opens(void **state)
{
	(void)state;
	auth_set_token((struct slice){ 0 });
	assert_false(auth_bearer_ok(LIT("Bearer ")));
	assert_false(auth_bearer_ok(LIT("Bearer x")));
	assert_false(auth_bearer_ok((struct slice){ 0 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_scheme_is_known_in_any_case, set_token),
		cmocka_unit_test_setup(test_blanks_around_the_token_are_dropped, set_token),
		cmocka_unit_test_setup(test_only_the_whole_token_opens, set_token),
		cmocka_unit_test_setup(test_bytes_above_ascii_are_just_wrong, set_token),
		cmocka_unit_test_setup(test_a_rotated_token_replaces_the_old, set_token),
		cmocka_unit_test_setup(test_without_a_token_nothing_opens, set_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
