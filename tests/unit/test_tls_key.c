/*
 * Private keys: every form a PEM file may have them in, what is refused and how that is said, and
 * whether a key and a certificate belong together.
 */
#include "tls_data.h"

#include <errno.h>

#include "tls/key.h"

static struct tls_key key;
static char why_mem[256];
static struct buf why;

static int read_text(struct slice pem)
{
	buf_over(&why, why_mem, sizeof(why_mem));
	return tls_key_read(&key, pem, &why);
}

static int read_key(const char *name)
{
	return read_text(data_text(name));
}

static struct slice key_der(const char *name)
{
	struct slice text = data_text(name);
	const char *label = "PRIVATE KEY";

	if (strstr(name, "sec1"))
		label = "EC PRIVATE KEY";
	if (strstr(name, "pkcs1"))
		label = "RSA PRIVATE KEY";
	(void)text;
	return data_block(name, label);
}

static const struct {
	const char *name;
	enum cert_key_type type;
	int size; /* RSA: bits; EC: bytes */
} good[] = {
	{ "keys/p256.pem", CERT_KEY_EC, 32 },
	{ "keys/p256-sec1.pem", CERT_KEY_EC, 32 },
	{ "keys/p384.pem", CERT_KEY_EC, 48 },
	{ "keys/p384-sec1.pem", CERT_KEY_EC, 48 },
	{ "keys/rsa2048.pem", CERT_KEY_RSA, 2048 },
	{ "keys/rsa2048-pkcs1.pem", CERT_KEY_RSA, 2048 },
	{ "keys/rsa3072.pem", CERT_KEY_RSA, 3072 },
	{ "keys/rsa4096.pem", CERT_KEY_RSA, 4096 },
	{ "keys/rsa4096-pkcs1.pem", CERT_KEY_RSA, 4096 },
};

static void test_each_form_is_read_and_fits_its_certificate(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct cert c = data_cert(good[i].name);

		assert_int_equal(read_key(good[i].name), 0);
		assert_int_equal(key.type, good[i].type);
		assert_int_equal(good[i].type == CERT_KEY_RSA ? key.bits : key.x.n, good[i].size);
		assert_true(tls_key_fits(&key, &c.key));
		buf_reset(&data_mem, true);
	}
}

static void test_two_forms_of_a_key_are_the_same_key(void **state)
{
	struct tls_key first;

	(void)state;
	assert_int_equal(read_key("keys/rsa2048.pem"), 0);
	memcpy(&first, &key, sizeof(key));
	assert_int_equal(read_key("keys/rsa2048-pkcs1.pem"), 0);
	assert_memory_equal(first.mem, key.mem, sizeof(key.mem));
	assert_int_equal(read_key("keys/p384.pem"), 0);
	memcpy(&first, &key, sizeof(key));
	assert_int_equal(read_key("keys/p384-sec1.pem"), 0);
	assert_memory_equal(first.mem, key.mem, sizeof(key.mem));
}

static void test_a_key_fits_no_other_certificate(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		for (size_t k = 0; k < COUNT(good); k++) {
			struct cert c = data_cert(good[k].name);
			bool same = good[i].type == good[k].type && good[i].size == good[k].size;

			assert_int_equal(read_key(good[i].name), 0);
			assert_int_equal(tls_key_fits(&key, &c.key), same);
			buf_reset(&data_mem, true);
		}
}

static void test_a_key_that_is_none_fits_nothing(void **state)
{
	struct cert_key nobody = { CERT_KEY_OTHER };
	struct cert c = data_cert("keys/p256.pem");

	(void)state;
	tls_key_wipe(&key);
	assert_false(tls_key_fits(&key, &c.key));
	assert_false(tls_key_fits(&key, &nobody));
	assert_int_equal(read_key("keys/p256.pem"), 0);
	assert_false(tls_key_fits(&key, &nobody));
}

static void test_what_is_refused_is_said(void **state)
{
	static const struct {
		const char *name, *why;
	} bad[] = {
		{ "keys/encrypted.pem",
			"is encrypted; a copy without passphrase comes from: openssl "
			"pkey -in OLD -out NEW" },
		{ "keys/encrypted-old.pem", "is encrypted; a copy without passphrase comes from: "
					    "openssl pkey -in OLD -out NEW" },
		{ "keys/p521.pem", "has a key that is neither RSA (2048 to 4096 bits) nor EC "
				   "(P-256, P-384)" },
		{ "keys/brainpool.pem", "has a key that is neither RSA (2048 to 4096 bits) nor EC "
					"(P-256, P-384)" },
		{ "keys/ed25519.pem", "has a key that is neither RSA (2048 to 4096 bits) nor EC "
				      "(P-256, P-384)" },
		{ "keys/rsa1024.pem", "has a key that is neither RSA (2048 to 4096 bits) nor EC "
				      "(P-256, P-384)" },
		{ "ca.pem", "holds no private key (no line -----BEGIN PRIVATE KEY-----)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(read_key(bad[i].name), -EINVAL);
		assert_same(buf_all(&why), slice_of(bad[i].why));
		assert_int_equal(key.type, CERT_KEY_OTHER);
	}
}

static void test_texts_that_are_no_pem(void **state)
{
	(void)state;
	assert_int_equal(read_text(LIT("")), -EINVAL);
	assert_slice(buf_all(&why), "holds no private key (no line -----BEGIN PRIVATE KEY-----)");
	assert_int_equal(read_text(LIT("-----BEGIN PRIVATE KEY-----\nMIGH")), -EINVAL);
	assert_slice(buf_all(&why), "has a private key that is no whole PEM block");
	assert_int_equal(read_text(LIT("-----BEGIN PRIVATE KEY-----\nMAA=\n"
				       "-----END PRIVATE KEY-----\n")),
		-EINVAL);
	assert_slice(buf_all(&why), "has a private key that cannot be decoded");
}

static void test_a_key_too_large_for_us_is_refused(void **state)
{
	struct buf text = unit_buf(64 * KIB);

	(void)state;
	buf_puts(&text, "-----BEGIN PRIVATE KEY-----\n");
	for (int i = 0; i < KEY_DER_MAX / 48 + 1; i++)
		buf_puts(&text,
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
	buf_puts(&text, "-----END PRIVATE KEY-----\n");
	assert_int_equal(read_text(buf_all(&text)), -EINVAL);
	assert_slice(buf_all(&why), "has a private key that is no whole PEM block");
	buf_release(&text);
}

/* --- bytes that are wrong --- */

static void test_a_key_cut_short_or_followed_by_bytes_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i += 2) {
		struct slice der = key_der(good[i].name);

		for (size_t n = 0; n < der.n; n += 1 + der.n / 100)
			assert_int_equal(tls_key_parse(&key, slice_head(der, n)), -EBADMSG);
		buf_putc(&data_mem, 0);
		assert_int_equal(tls_key_parse(&key, (struct slice){ der.p, der.n + 1 }), -EBADMSG);
		buf_reset(&data_mem, true);
	}
}

/* Whatever one changed byte makes of a key: it is refused, or fits, or does not. */
static void test_a_changed_byte_does_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i += 4) {
		struct cert c = data_cert(good[i].name);
		struct slice der = key_der(good[i].name);
		int fits = 0;

		for (size_t at = 0; at < der.n; at += 1 + der.n / 60) {
			char *p = (char *)(uintptr_t)der.p + at, was = *p;

			*p = (char)(was ^ 0x41);
			if (tls_key_parse(&key, der) == 0)
				fits += tls_key_fits(&key, &c.key);
			*p = was;
		}
		assert_in_range(fits, 0, 45); /* those of e, d and n, which nobody needs */
		buf_reset(&data_mem, true);
	}
}

/* A version, an algorithm and an inner form that do not go together. */
static void test_forms_that_contradict_themselves(void **state)
{
	struct slice der = key_der("keys/p256.pem"),
		     curve = LIT("\x2a\x86\x48\xce\x3d\x03\x01\x07");
	char *p = memmem(der.p, der.n, curve.p, curve.n), *version = (char *)(uintptr_t)der.p + 5;

	(void)state;
	assert_non_null(p);
	p[curve.n - 1] = 1; /* P-192 */
	assert_int_equal(tls_key_parse(&key, der), -ENOTSUP);
	p[curve.n - 1] = 7;
	assert_int_equal(tls_key_parse(&key, der), 0);
	*version = 1; /* as RFC 5958 has it where there is a public key */
	assert_int_equal(tls_key_parse(&key, der), 0);
	*version = 2;
	assert_int_equal(tls_key_parse(&key, der), -EBADMSG);
	assert_int_equal(tls_key_parse(&key, LIT("\x30\x03\x02\x01\x02")), -EBADMSG);
	assert_int_equal(tls_key_parse(&key, LIT("\x30\x03\x02\x01\x00")), -EBADMSG);
	assert_int_equal(tls_key_parse(&key, LIT("\x30\x03\x02\x01\x01")), -EBADMSG);
}

/* --- keys of our own --- */

static void test_a_new_key_is_written_read_and_used(void **state)
{
	unsigned char mem[TLS_KEY_POINT_MAX], point[TLS_KEY_POINT_MAX];
	struct cert_key public = { CERT_KEY_EC, .curve = 23 };
	struct buf pem = unit_buf(KEY_DER_MAX);
	struct tls_key made;

	(void)state;
	assert_int_equal(tls_key_make(&made), 0);
	public.point = tls_key_point(&made, mem);
	assert_int_equal(public.point.n, 65);
	tls_key_put(&made, &pem);
	assert_false(pem.failed);
	assert_int_equal(read_text(buf_all(&pem)), 0);
	assert_same(key.x, made.x);
	assert_same(tls_key_point(&key, point), public.point);
	assert_true(tls_key_fits(&key, &public));
	assert_int_equal(tls_key_make(&made), 0);
	assert_false(slice_eq(made.x, key.x));
	assert_false(tls_key_fits(&made, &public));
	buf_release(&pem);
}

static void test_nothing_of_a_key_stays_after_the_wipe(void **state)
{
	static const struct tls_key nothing;

	(void)state;
	assert_int_equal(read_key("keys/rsa2048.pem"), 0);
	tls_key_wipe(&key);
	assert_memory_equal(&key, &nothing, sizeof(key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_form_is_read_and_fits_its_certificate),
		cmocka_unit_test(test_two_forms_of_a_key_are_the_same_key),
		cmocka_unit_test(test_a_key_fits_no_other_certificate),
		cmocka_unit_test(test_a_key_that_is_none_fits_nothing),
		cmocka_unit_test(test_what_is_refused_is_said),
		cmocka_unit_test(test_texts_that_are_no_pem),
		cmocka_unit_test(test_a_key_too_large_for_us_is_refused),
		cmocka_unit_test(test_a_key_cut_short_or_followed_by_bytes_is_none),
		cmocka_unit_test(test_a_changed_byte_does_no_harm),
		cmocka_unit_test(test_forms_that_contradict_themselves),
		cmocka_unit_test(test_a_new_key_is_written_read_and_used),
		cmocka_unit_test(test_nothing_of_a_key_stays_after_the_wipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
