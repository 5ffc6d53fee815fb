/*
 * Base 64, percent escapes, hashes, forms: texts of RFCs, and what must be refused.
 */
#include "unit.h"

#include <errno.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/percent.h"
#include "base/str.h"
#include "front/form.h"

static char mem[512];
static struct buf b;

static struct buf *fresh(void)
{
	buf_over(&b, mem, sizeof(mem));
	return &b;
}

/* ---- base 64 ---- */

static void test_the_vectors_of_rfc_4648_are_read_and_written(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "Zg==", "f" }, { "Zm8=", "fo" },
		{ "Zm9v", "foo" }, { "Zm9vYg==", "foob" }, { "Zm9vYmE=", "fooba" },
		{ "Zm9vYmFy", "foobar" }, { "+/+/", "\xfb\xff\xbf" } };

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct slice bytes = slice_of(pairs[i][1]);

		assert_true(base64_get(slice_of(pairs[i][0]), fresh()));
		assert_same(buf_all(&b), bytes);
		base64_put(fresh(), (const unsigned char *)bytes.p, bytes.n);
		assert_same(buf_all(&b), slice_of(pairs[i][0]));
	}
}

static void test_base64url_reads_what_it_wrote(void **state)
{
	unsigned char bytes[64];
	char text[128];
	struct buf t;

	(void)state;
	for (size_t n = 0; n < sizeof(bytes); n++) {
		for (size_t i = 0; i < n; i++)
			bytes[i] = (unsigned char)(251 * i + n);
		buf_over(&t, text, sizeof(text));
		base64url_put(&t, bytes, n);
		assert_true(base64url_get(buf_all(&t), fresh()));
		assert_true(slice_eq(buf_all(&b), (struct slice){ (char *)bytes, n }));
	}
}

static void test_a_second_text_for_the_same_bytes_is_refused(void **state)
{
	static const char *const padded[] = { "Zg",
		"Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Z m8", "Zm8=\n",
		"-_-_" };
	static const char *const bare[] = { "Zg==", "Zh", "Zm9", "Z", "Zm9vZ", "+/+/", "Zm8 ",
		"Zm\x80v" };

	(void)state;
	for (size_t i = 0; i < COUNT(padded); i++)
		assert_false(base64_get(slice_of(padded[i]), fresh()));
	for (size_t i = 0; i < COUNT(bare); i++)
		assert_false(base64url_get(slice_of(bare[i]), fresh()));
}

static void test_more_bytes_than_fit_are_refused(void **state)
{
	(void)state;
	buf_over(&b, mem, 2);
	assert_false(base64url_get(LIT("Zm9v"), &b));
}

/* ---- percent ---- */

static void test_an_escape_is_a_percent_sign_and_two_digits(void **state)
{
	(void)state;
	assert_int_equal(percent_byte(LIT("%41")), 'A');
	assert_int_equal(percent_byte(LIT("%fF...")), 0xff);
	assert_int_equal(percent_byte(LIT("%00")), 0);
	assert_int_equal(percent_byte(LIT("%4")), -1);
	assert_int_equal(percent_byte(LIT("%4g")), -1);
	assert_int_equal(percent_byte(LIT("%`1")), -1);
	assert_int_equal(percent_byte(LIT("%1@")), -1);
	assert_int_equal(percent_byte(LIT("41%")), -1);
	assert_int_equal(percent_byte(LIT("")), -1);
}

static void test_only_unreserved_characters_stay(void **state)
{
	(void)state;
	percent_put(fresh(), LIT("Az09-._~ /?#%&+=\0\x7f\xc3\xa4"));
	assert_slice(buf_all(&b), "Az09-._~%20%2F%3F%23%25%26%2B%3D%00%7F%C3%A4");
}

/* ---- hashes ---- */

static void is_hex(const unsigned char *got, const char *want)
{
	char hex[2 * HASH_SIZE + 1];

	str_hex(got, HASH_SIZE, hex);
	assert_string_equal(hex, want);
}

static void test_sha256_of_abc(void **state)
{
	unsigned char out[HASH_SIZE];

	(void)state;
	hash_sha256(LIT("abc"), out);
	is_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_hmac_of_rfc_4231(void **state)
{
	unsigned char out[HASH_SIZE];

	(void)state;
	hash_hmac(LIT("Jefe"), LIT("what do ya want for nothing?"), out);
	is_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/* ---- forms ---- */

static const char *const names[] = { "code", "state" };
static struct slice found[COUNT(names)];

static int pick(struct slice text)
{
	return form_pick(text, names, COUNT(names), found, fresh());
}

static void test_a_form_is_decoded(void **state)
{
	(void)state;
	assert_int_equal(pick(LIT("other=%zz&state=a%26b+c%3D&code=%C3%A4==")), 0);
	assert_slice(found[0], "\xc3\xa4==");
	assert_slice(found[1], "a&b c=");
}

static void test_what_is_missing_or_empty_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(pick(LIT("code=&state&&codes=1")), 0);
	assert_null(found[0].p);
	assert_null(found[1].p);
	assert_int_equal(pick(LIT("")), 0);
	assert_null(found[0].p);
}

static void test_a_parameter_twice_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pick(LIT("code=1&code=1")), -EEXIST);
	assert_int_equal(pick(LIT("code=&code=1")), 0);
}

static void test_bytes_no_parameter_has_are_refused(void **state)
{
	(void)state;
	assert_int_equal(pick(LIT("code=%")), -EBADMSG);
	assert_int_equal(pick(LIT("code=%4")), -EBADMSG);
	assert_int_equal(pick(LIT("code=%00")), -EBADMSG);
	assert_int_equal(pick(LIT("code=a\0b")), -EBADMSG);
	assert_int_equal(pick(LIT("code=%ff")), -EBADMSG);
	assert_int_equal(pick(LIT("code=%C3")), -EBADMSG);
}

static void test_a_form_over_its_memory_is_refused(void **state)
{
	(void)state;
	buf_over(&b, mem, 4);
	assert_int_equal(form_pick(LIT("code=12345"), names, COUNT(names), found, &b), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_vectors_of_rfc_4648_are_read_and_written),
		cmocka_unit_test(test_base64url_reads_what_it_wrote),
		cmocka_unit_test(test_a_second_text_for_the_same_bytes_is_refused),
		cmocka_unit_test(test_more_bytes_than_fit_are_refused),
		cmocka_unit_test(test_an_escape_is_a_percent_sign_and_two_digits),
		cmocka_unit_test(test_only_unreserved_characters_stay),
		cmocka_unit_test(test_sha256_of_abc),
		cmocka_unit_test(test_hmac_of_rfc_4231),
		cmocka_unit_test(test_a_form_is_decoded),
		cmocka_unit_test(test_what_is_missing_or_empty_is_not_there),
		cmocka_unit_test(test_a_parameter_twice_is_refused),
		cmocka_unit_test(test_bytes_no_parameter_has_are_refused),
		cmocka_unit_test(test_a_form_over_its_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
