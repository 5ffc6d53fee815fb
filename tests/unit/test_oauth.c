/*
 * What the authorization server hands out: client ids, codes, access and refresh tokens; and what
 * it must not take back.
 */
#include "unit.h"

#include <errno.h>

#include "base/base64.h"
#include "bounds.h"
#include "front/capsule.h"
#include "front/oauth_client.h"
#include "front/oauth_code.h"
#include "front/oauth_token.h"

#define TOKEN LIT("reference-token-0123456789")
#define NOW 1790000000

static char mem[64 * KIB];
static struct buf b;

static struct buf *fresh(void)
{
	buf_over(&b, mem, sizeof(mem));
	return &b;
}

static int setup(void **state)
{
	(void)state;
	capsule_keys(TOKEN);
	oauth_codes_end();
	assert_int_equal(oauth_families_load(NULL), 0);
	return 0;
}

/* ---- capsules ---- */

static char text_mem[1 * KIB];

static struct slice sealed(enum capsule_kind kind, struct slice payload)
{
	struct buf t;

	buf_over(&t, text_mem, sizeof(text_mem));
	capsule_put(&t, kind, payload);
	return buf_all(&t);
}

static int open_as(enum capsule_kind kind, struct slice text)
{
	struct slice payload;

	return capsule_open(fresh(), kind, text, &payload);
}

static void test_a_capsule_gives_back_what_was_sealed(void **state)
{
	struct slice payload, text = sealed(CAPSULE_CLIENT, LIT("{\"a\":\0}"));

	(void)state;
	assert_int_equal(capsule_open(fresh(), CAPSULE_CLIENT, text, &payload), 0);
	assert_slice(payload, "{\"a\":\0}");
}

static void test_no_altered_bit_is_taken(void **state)
{
	struct slice text = sealed(CAPSULE_ACCESS, LIT("payload"));

	(void)state;
	for (size_t i = 0; i < 8 * text.n; i++) {
		text_mem[i / 8] = (char)(text_mem[i / 8] ^ 1 << i % 8);
		assert_int_equal(open_as(CAPSULE_ACCESS, text), -EBADMSG);
		text_mem[i / 8] = (char)(text_mem[i / 8] ^ 1 << i % 8);
	}
	assert_int_equal(open_as(CAPSULE_ACCESS, text), 0);
}

static void test_one_kind_is_never_taken_for_another(void **state)
{
	struct slice text = sealed(CAPSULE_CLIENT, LIT("payload"));

	(void)state;
	assert_int_equal(open_as(CAPSULE_ACCESS, text), -EBADMSG);
	assert_int_equal(open_as(CAPSULE_REFRESH, text), -EBADMSG);
}

static void test_a_new_token_ends_every_capsule(void **state)
{
	struct slice text = sealed(CAPSULE_CLIENT, LIT("payload"));

	(void)state;
	capsule_keys(LIT("another-token-0123456789"));
	assert_int_equal(open_as(CAPSULE_CLIENT, text), -EBADMSG);
}

/* Fault 22: "!!!!" and "====" behind a token made it a new caller. */
static void test_nothing_may_stand_behind_a_capsule(void **state)
{
	static const char *const more[] = { "!!!!", "====", "=", ".", " ", "A" };
	struct slice text = sealed(CAPSULE_ACCESS, LIT("payload"));

	(void)state;
	for (size_t i = 0; i < COUNT(more); i++) {
		memcpy(text_mem + text.n, more[i], strlen(more[i]));
		assert_int_equal(open_as(CAPSULE_ACCESS,
					 (struct slice){ text_mem, text.n + strlen(more[i]) }),
			-EBADMSG);
	}
	assert_int_equal(open_as(CAPSULE_ACCESS, LIT("")), -EBADMSG);
	assert_int_equal(open_as(CAPSULE_ACCESS, LIT(".")), -EBADMSG);
}

/* ---- clients ---- */

static char answer_mem[16 * KIB], body_mem[16 * KIB], id_mem[8 * KIB];

static const char *register_client(const char *body, struct json *d)
{
	struct buf answer;
	const char *error, *why = "";

	memcpy(body_mem, body, strlen(body));
	buf_over(&answer, answer_mem, sizeof(answer_mem));
	error = oauth_client_register(
		(struct slice){ body_mem, strlen(body) }, fresh(), &answer, &why);
	if (error) {
		assert_string_not_equal(why, "");
		return error;
	}
	assert_int_equal(json_parse(d, answer.p, answer.len, fresh()), 0);
	return NULL;
}

/* The client_id of a registration, which must succeed. */
static struct slice client_of(const char *body)
{
	struct slice id;
	struct json d;

	assert_null(register_client(body, &d));
	assert_int_equal(json_str(&d, json_get(&d, 0, "client_id"), &id), 0);
	memcpy(id_mem, id.p, id.n);
	return (struct slice){ id_mem, id.n };
}

static void test_a_client_id_holds_what_was_registered(void **state)
{
	struct oauth_client c;
	struct slice id = client_of("{\"client_name\":\"Claude \\u00e4\",\"redirect_uris\":"
				    "[\"https://a/cb\",\"http://localhost:1/\"],\"jwks\":{}}");

	(void)state;
	assert_int_equal(oauth_client_open(&c, id, fresh()), 0);
	assert_slice(c.name, "Claude \xc3\xa4");
	assert_true(oauth_client_redirects(&c, LIT("https://a/cb")));
	assert_true(oauth_client_redirects(&c, LIT("http://localhost:77/")));
	assert_false(oauth_client_redirects(&c, LIT("https://evil.example/cb")));
	assert_int_equal(oauth_client_only_redirect(&c).n, 0);
}

static void test_a_client_with_one_redirect_need_not_name_it(void **state)
{
	struct oauth_client c;
	struct slice id = client_of("{\"redirect_uris\":[\"https://a/cb\"]}");

	(void)state;
	assert_int_equal(oauth_client_open(&c, id, fresh()), 0);
	assert_slice(oauth_client_only_redirect(&c), "https://a/cb");
	assert_int_equal(c.name.n, 0);
}

static void test_registrations_that_are_refused(void **state)
{
	static const char *const bodies[][2] = {
		{ "", "invalid_client_metadata" },
		{ "[]", "invalid_client_metadata" },
		{ "\"x\"", "invalid_client_metadata" },
		{ "{\"redirect_uris\":[\"https://a\"]", "invalid_client_metadata" },
		{ "{}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":[]}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":\"https://a\"}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":[1]}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":[\"https://a\",null]}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":[\"javascript:x\"]}", "invalid_redirect_uri" },
		{ "{\"redirect_uris\":[\"https://a\"],\"client_name\":7}",
			"invalid_client_metadata" },
		{ "{\"redirect_uris\":[\"https://a\"],\"redirect_uris\":[\"https://b\"]}",
			"invalid_client_metadata" },
	};
	struct json d;

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++)
		assert_string_equal(register_client(bodies[i][0], &d), bodies[i][1]);
}

static void test_more_redirects_than_an_id_can_hold_are_refused(void **state)
{
	static char body[16 * KIB];
	struct json d;
	struct buf t;

	(void)state;
	buf_over(&t, body, sizeof(body));
	buf_puts(&t, "{\"redirect_uris\":[\"https://a\"");
	for (int i = 0; i < REDIRECTS_MAX; i++)
		buf_printf(&t, ",\"https://a/%d\"", i);
	buf_puts(&t, "]}");
	buf_putc(&t, '\0');
	assert_string_equal(register_client(body, &d), "invalid_redirect_uri");
	buf_over(&t, body, sizeof(body));
	buf_puts(&t, "{\"redirect_uris\":[\"https://a\"");
	for (int i = 1; i < REDIRECTS_MAX; i++)
		buf_printf(&t, ",\"https://a/%0400d\"", i);
	buf_puts(&t, "]}");
	buf_putc(&t, '\0');
	assert_string_equal(register_client(body, &d), "invalid_redirect_uri");
}

/* ---- codes ---- */

static const struct oauth_grant grant = { { "client", 6 }, { "https://a/cb", 12 },
	/* of the verifier in RFC 7636 appendix B */
	{ "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", 43 } };
#define VERIFIER LIT("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")

static char code_mem[64];
static unsigned char family[FAMILY_ID_SIZE];

static struct slice issue(int64_t now)
{
	struct buf t;

	buf_over(&t, code_mem, sizeof(code_mem));
	assert_int_equal(oauth_code_issue(&grant, now, &t), 0);
	return buf_all(&t);
}

static enum redeemed redeem(
	struct slice code, const char *client, const char *uri, struct slice verifier, int64_t now)
{
	struct oauth_grant g = { slice_of(client), slice_of(uri), { 0 } };

	return oauth_code_redeem(code, &g, verifier, now, family);
}

static void test_a_code_is_good_once(void **state)
{
	struct slice code = issue(1000);
	unsigned char first[FAMILY_ID_SIZE];

	(void)state;
	memset(family, 7, sizeof(family));
	memcpy(first, family, sizeof(first));
	assert_int_equal(redeem(code, "client", "https://a/cb", VERIFIER, 2000), CODE_GOOD);
	memset(family, 8, sizeof(family));
	assert_int_equal(redeem(code, "client", "https://a/cb", VERIFIER, 2000), CODE_USED);
	assert_memory_equal(family, first, sizeof(first));
}

static void test_a_code_needs_no_redirect_uri(void **state)
{
	(void)state;
	assert_int_equal(redeem(issue(1000), "client", "", VERIFIER, 2000), CODE_GOOD);
}

static void test_a_code_is_for_its_client_redirect_and_verifier(void **state)
{
	static const char wrong[] = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXkk";

	(void)state;
	assert_int_equal(redeem(issue(1), "other", "https://a/cb", VERIFIER, 2), CODE_BAD);
	assert_int_equal(redeem(issue(1), "client", "https://b/cb", VERIFIER, 2), CODE_BAD);
	assert_int_equal(redeem(issue(1), "client", "", slice_of(wrong), 2), CODE_BAD);
	assert_int_equal(redeem(issue(1), "client", "", LIT("short"), 2), CODE_BAD);
	assert_int_equal(redeem(LIT("nocode"), "client", "", VERIFIER, 2), CODE_BAD);
}

static void test_a_wrong_verifier_spends_the_code(void **state)
{
	struct slice code = issue(1);

	(void)state;
	assert_int_equal(redeem(code, "client", "", LIT("short"), 2), CODE_BAD);
	assert_int_equal(redeem(code, "client", "", VERIFIER, 3), CODE_BAD);
}

static void test_another_client_does_not_spend_a_code(void **state)
{
	struct slice code = issue(1);

	(void)state;
	assert_int_equal(redeem(code, "other", "", VERIFIER, 2), CODE_BAD);
	assert_int_equal(redeem(code, "client", "", VERIFIER, 3), CODE_GOOD);
}

static void test_a_code_expires(void **state)
{
	(void)state;
	assert_int_equal(redeem(issue(1), "client", "", VERIFIER, CODE_MS), CODE_GOOD);
	assert_int_equal(redeem(issue(1), "client", "", VERIFIER, CODE_MS + 1), CODE_BAD);
}

static void test_a_full_table_drops_the_oldest_code(void **state)
{
	char first[64], second[64];
	struct slice code = issue(1);

	(void)state;
	memcpy(first, code.p, code.n);
	memcpy(second, issue(2).p, code.n);
	for (int i = 0; i < CODES_MAX - 1; i++)
		(void)issue(10 + i);
	assert_int_equal(
		redeem((struct slice){ first, code.n }, "client", "", VERIFIER, 99), CODE_BAD);
	assert_int_equal(
		redeem((struct slice){ second, code.n }, "client", "", VERIFIER, 99), CODE_GOOD);
}

static void test_challenges_and_verifiers_have_a_form(void **state)
{
	char v[130];

	(void)state;
	memset(v, 'a', sizeof(v));
	assert_true(oauth_verifier_ok((struct slice){ v, 43 }));
	assert_true(oauth_verifier_ok((struct slice){ v, 128 }));
	assert_false(oauth_verifier_ok((struct slice){ v, 42 }));
	assert_false(oauth_verifier_ok((struct slice){ v, 129 }));
	assert_true(oauth_challenge_ok((struct slice){ v, 43 }));
	assert_false(oauth_challenge_ok((struct slice){ v, 44 }));
	v[20] = '~';
	assert_true(oauth_verifier_ok((struct slice){ v, 43 }));
	assert_false(oauth_challenge_ok((struct slice){ v, 43 }));
	v[20] = '+';
	assert_false(oauth_verifier_ok((struct slice){ v, 43 }));
}

/* ---- access tokens ---- */

static void test_an_access_token_lives_thirty_days(void **state)
{
	struct slice token;

	(void)state;
	oauth_access_put(fresh(), family, NOW);
	token = buf_all(&b);
	assert_true(oauth_access_ok(token, TOKEN, NOW));
	assert_true(oauth_access_ok(token, TOKEN, NOW + ACCESS_S - 1));
	assert_false(oauth_access_ok(token, TOKEN, NOW + ACCESS_S));
}

/* Made by the reference's formula with this token. */
#define REFERENCE                                                                                  \
	LIT("favjH3omo8F9aGhEt-HRPU4NeHK6zL_L9e2esGv5_4s."                                         \
	    "eyJ0IjoxNzkwMDAwMDAwMDAwLCJjIjoiYWJjIiwiayI6ImFjY2VzcyJ9")

static void test_a_token_of_the_reference_server_lives_on(void **state)
{
	(void)state;
	assert_true(oauth_access_ok(REFERENCE, TOKEN, NOW));
	assert_false(oauth_access_ok(REFERENCE, TOKEN, NOW + ACCESS_S));
	assert_false(oauth_access_ok(REFERENCE, LIT("another-token-0123456789"), NOW));
}

static void test_a_code_of_the_reference_server_is_no_token(void **state)
{
	(void)state;
	assert_false(oauth_access_ok(
		LIT("p8bReL8iLpWoISvE7k3aT32MmvqJ6HSHsyZ8HZ6Ltx0."
		    "eyJ0IjoxNzkwMDAwMDAwMDAwLCJjIjoiYWJjIiwiY2MiOiJ4IiwiY20iOiJTMjU2IiwiciI6Imh0"
		    "dHBzOi8vYSJ9"),
		TOKEN, NOW));
}

/* ---- refresh tokens ---- */

static char refresh_mem[4][256];

static struct slice kept(int i)
{
	memcpy(refresh_mem[i], b.p, b.len);
	return (struct slice){ refresh_mem[i], b.len };
}

static struct slice begin(int i, int64_t now)
{
	memset(family, 'f', sizeof(family));
	assert_int_equal(oauth_refresh_begin(fresh(), family, LIT("client"), now), 0);
	return kept(i);
}

static int next(struct slice token, int64_t now)
{
	unsigned char got[FAMILY_ID_SIZE];
	int r = oauth_refresh_next(fresh(), token, LIT("client"), now, got);

	if (r == 0)
		assert_memory_equal(got, family, sizeof(got));
	return r;
}

static void test_a_refresh_token_rotates(void **state)
{
	struct slice first = begin(0, NOW), second;

	(void)state;
	assert_int_equal(next(first, NOW + 10), 0);
	second = kept(1);
	assert_false(slice_eq(first, second));
	assert_int_equal(next(second, NOW + 20), 0);
}

static void test_a_lost_answer_can_be_asked_for_again(void **state)
{
	struct slice first = begin(0, NOW), second;

	(void)state;
	assert_int_equal(next(first, NOW + 10), 0);
	second = kept(1);
	assert_int_equal(next(first, NOW + 10 + REFRESH_AGAIN_S), 0);
	assert_true(slice_eq(buf_all(&b), second));
}

static void test_a_replayed_refresh_token_ends_the_sign_in(void **state)
{
	struct slice first = begin(0, NOW), second;

	(void)state;
	assert_int_equal(next(first, NOW + 10), 0);
	second = kept(1);
	assert_int_equal(next(first, NOW + 11 + REFRESH_AGAIN_S), -EBADMSG);
	assert_int_equal(next(second, NOW + 12 + REFRESH_AGAIN_S), -EBADMSG);
}

static void test_a_token_two_generations_old_ends_the_sign_in_at_once(void **state)
{
	struct slice first = begin(0, NOW), second;

	(void)state;
	assert_int_equal(next(first, NOW), 0);
	second = kept(1);
	assert_int_equal(next(second, NOW), 0);
	assert_int_equal(next(first, NOW), -EBADMSG);
	assert_int_equal(next(second, NOW), -EBADMSG);
}

static void test_a_refresh_token_is_for_its_client(void **state)
{
	struct slice first = begin(0, NOW);
	unsigned char got[FAMILY_ID_SIZE];

	(void)state;
	assert_int_equal(oauth_refresh_next(fresh(), first, LIT("other"), NOW, got), -EBADMSG);
	assert_int_equal(next(first, NOW), 0);
}

static void test_a_sign_in_not_used_for_long_ends(void **state)
{
	struct slice first = begin(0, NOW);

	(void)state;
	assert_int_equal(next(first, NOW + REFRESH_S + 1), -EBADMSG);
}

static void test_an_ended_sign_in_refreshes_no_more(void **state)
{
	struct slice first = begin(0, NOW);

	(void)state;
	oauth_family_end(family, NOW);
	assert_int_equal(next(first, NOW), -EBADMSG);
}

static void test_an_ended_sign_in_takes_its_access_tokens_with_it(void **state)
{
	static char access_mem[256];
	struct slice first = begin(0, NOW), access;
	struct buf t;

	(void)state;
	buf_over(&t, access_mem, sizeof(access_mem));
	oauth_access_put(&t, family, NOW);
	access = buf_all(&t);
	assert_int_equal(next(first, NOW), 0);
	assert_int_equal(next(kept(1), NOW), 0);
	assert_true(oauth_access_ok(access, TOKEN, NOW));
	assert_int_equal(next(first, NOW), -EBADMSG); /* copied by somebody */
	assert_false(oauth_access_ok(access, TOKEN, NOW));
	oauth_families_put(fresh());
	oauth_families_parse(buf_all(&b));
	assert_false(oauth_access_ok(access, TOKEN, NOW)); /* also after a restart */
	assert_int_equal(next(first, NOW), -EBADMSG);
}

static void test_a_sign_in_that_was_never_kept_can_be_ended(void **state)
{
	static char access_mem[256];
	struct buf t;

	(void)state;
	memset(family, 'n', sizeof(family));
	buf_over(&t, access_mem, sizeof(access_mem));
	oauth_access_put(&t, family, NOW);
	assert_true(oauth_access_ok(buf_all(&t), TOKEN, NOW));
	oauth_family_end(family, NOW);
	assert_false(oauth_access_ok(buf_all(&t), TOKEN, NOW));
}

static void test_sign_ins_survive_a_restart(void **state)
{
	struct slice first = begin(0, NOW);

	(void)state;
	assert_int_equal(next(first, NOW + 10), 0);
	(void)kept(1);
	oauth_families_put(fresh());
	oauth_families_parse(buf_all(&b));
	assert_int_equal(next((struct slice){ refresh_mem[1], strlen(refresh_mem[1]) }, NOW), 0);
}

static void test_foreign_lines_of_the_state_file_are_dropped(void **state)
{
	struct slice first = begin(0, NOW);
	char text[8 * KIB];
	struct buf t;

	(void)state;
	buf_over(&t, text, sizeof(text));
	buf_puts(&t, "\n \nnonsense\n66666666666666666666666666666666 00 1 1\n");
	oauth_families_put(&t);
	buf_puts(&t, "666666666666666666666666666666"); /* torn */
	oauth_families_parse(buf_all(&t));
	oauth_families_put(fresh());
	assert_int_equal(memchr(b.p, '\n', b.len) == b.p + b.len - 1, 1);
	assert_int_equal(next(first, NOW), 0);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_capsule_gives_back_what_was_sealed),
		TEST(test_no_altered_bit_is_taken),
		TEST(test_one_kind_is_never_taken_for_another),
		TEST(test_a_new_token_ends_every_capsule),
		TEST(test_nothing_may_stand_behind_a_capsule),
		TEST(test_a_client_id_holds_what_was_registered),
		TEST(test_a_client_with_one_redirect_need_not_name_it),
		TEST(test_registrations_that_are_refused),
		TEST(test_more_redirects_than_an_id_can_hold_are_refused),
		TEST(test_a_code_is_good_once),
		TEST(test_a_code_needs_no_redirect_uri),
		TEST(test_a_code_is_for_its_client_redirect_and_verifier),
		TEST(test_a_wrong_verifier_spends_the_code),
		TEST(test_another_client_does_not_spend_a_code),
		TEST(test_a_code_expires),
		TEST(test_a_full_table_drops_the_oldest_code),
		TEST(test_challenges_and_verifiers_have_a_form),
		TEST(test_an_access_token_lives_thirty_days),
		TEST(test_a_token_of_the_reference_server_lives_on),
		TEST(test_a_code_of_the_reference_server_is_no_token),
		TEST(test_a_refresh_token_rotates),
		TEST(test_a_lost_answer_can_be_asked_for_again),
		TEST(test_a_replayed_refresh_token_ends_the_sign_in),
		TEST(test_a_token_two_generations_old_ends_the_sign_in_at_once),
		TEST(test_a_refresh_token_is_for_its_client),
		TEST(test_a_sign_in_not_used_for_long_ends),
		TEST(test_an_ended_sign_in_refreshes_no_more),
		TEST(test_an_ended_sign_in_takes_its_access_tokens_with_it),
		TEST(test_a_sign_in_that_was_never_kept_can_be_ended),
		TEST(test_sign_ins_survive_a_restart),
		TEST(test_foreign_lines_of_the_state_file_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
