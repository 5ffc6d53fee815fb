/*
 * Certificates read: dates, names, keys, and DER that is none.
 */
#include "tls_data.h"

#include <errno.h>

#include "base/clock.h"
#include "tls/der.h"
#include "tls/fingerprint.h"

static char text_mem[4096];

static struct slice text_of(void (*put)(struct buf *b, const struct cert *c), const struct cert *c)
{
	struct buf b;

	buf_over(&b, text_mem, sizeof(text_mem));
	put(&b, c);
	assert_false(b.failed);
	return buf_all(&b);
}

static int start(void **state)
{
	(void)state;
	buf_reset(&data_mem, true);
	return 0;
}

/* --- DER --- */

static bool element(struct slice in, struct slice *value)
{
	struct der d;
	bool is = der_next(&in, &d);

	*value = d.value;
	return is;
}

static void test_an_element_is_tag_length_and_value(void **state)
{
	struct slice in = LIT("\x02\x01\x07\x04\x00"), value;
	struct der d;

	(void)state;
	assert_true(der_next(&in, &d));
	assert_int_equal(d.tag, DER_INTEGER);
	assert_slice(d.value, "\x07");
	assert_slice(d.whole, "\x02\x01\x07");
	assert_false(der_take(&in, DER_INTEGER, &value));
	assert_true(der_take(&in, DER_OCTET_STRING, &value));
	assert_int_equal(value.n, 0);
	assert_false(der_next(&in, &d));
}

static void test_long_lengths_have_their_shortest_form(void **state)
{
	static char big[4 + 0x10000];
	struct slice value;

	(void)state;
	memcpy(big, "\x04\x81\x80", 3);
	assert_true(element((struct slice){ big, 3 + 0x80 }, &value));
	assert_int_equal(value.n, 0x80);
	assert_false(element((struct slice){ big, 2 + 0x80 }, &value));
	memcpy(big, "\x04\x81\x7f", 3);
	assert_false(element((struct slice){ big, 3 + 0x7f }, &value));
	memcpy(big, "\x04\x82\x01\x00", 4);
	assert_true(element((struct slice){ big, 4 + 0x100 }, &value));
	memcpy(big, "\x04\x82\x00\xff", 4);
	assert_false(element((struct slice){ big, 4 + 0xff }, &value));
	memcpy(big, "\x04\x80\x00\x00", 4); /* indefinite, which is BER */
	assert_false(element((struct slice){ big, 4 }, &value));
	memcpy(big, "\x04\x84\x00\x00\x00\x01\x00", 7);
	assert_false(element((struct slice){ big, 7 }, &value));
	assert_false(element(LIT("\x04"), &value));
	assert_false(element(LIT("\x04\x82\x01"), &value));
	assert_false(element(LIT("\x1f\x20\x00"), &value)); /* a tag of several bytes */
}

static void test_integers_are_positive(void **state)
{
	struct slice in = LIT("\x02\x03\x00\x80\x01"), value;

	(void)state;
	assert_true(der_take_unsigned(&in, &value));
	assert_slice(value, "\x80\x01");
	in = LIT("\x02\x01\x80");
	assert_false(der_take_unsigned(&in, &value));
	in = LIT("\x02\x01\x00");
	assert_false(der_take_unsigned(&in, &value));
	in = LIT("\x02\x00");
	assert_false(der_take_unsigned(&in, &value));
}

/* -1: no time. */
static int64_t time_of(int tag, const char *text)
{
	char mem[64] = { (char)tag, (char)strlen(text) };
	struct slice in = { mem, 2 + strlen(text) };
	int64_t t;

	memcpy(mem + 2, text, strlen(text));
	return der_take_time(&in, &t) && in.n == 0 ? t : -1;
}

static void test_times_have_two_digits_of_the_year_or_four(void **state)
{
	(void)state;
	assert_int_equal(time_of(DER_UTC_TIME, "700101000000Z"), 0);
	assert_int_equal(time_of(DER_UTC_TIME, "260131120000Z"), 1769860800);
	assert_int_equal(time_of(DER_UTC_TIME, "491231235959Z"), 2524607999);
	assert_int_equal(time_of(DER_UTC_TIME, "500101000000Z"), -631152000);
	assert_int_equal(time_of(DER_GENERALIZED_TIME, "20500101000000Z"), 2524608000);
	assert_int_equal(time_of(DER_GENERALIZED_TIME, "40960101000000Z"), 67090118400);
	assert_int_equal(time_of(DER_GENERALIZED_TIME, "20240229000000Z"), 1709164800);
}

static void test_times_that_do_not_exist_are_refused(void **state)
{
	static const char *const texts[] = { "", "Z", "700101000000", "7001010000Z",
		"700101000000+0100", "700101000000ZZ", "70010100000xZ", "701301000000Z",
		"700001000000Z", "700132000000Z", "700100000000Z", "700101240000Z", "700101006000Z",
		"700101000060Z", "700229000000Z" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(time_of(DER_UTC_TIME, texts[i]), -1);
	assert_int_equal(time_of(DER_GENERALIZED_TIME, "700101000000Z"), -1);
	assert_int_equal(time_of(DER_INTEGER, "700101000000Z"), -1);
}

static void test_dates_and_seconds_lead_to_each_other(void **state)
{
	struct utc u;

	(void)state;
	for (int64_t t = -100000000000; t < 200000000000; t += 86400 * 17 + 3671) {
		utc_from(&u, t);
		assert_int_equal(utc_to(&u), t);
	}
}

/* --- whole certificates --- */

static void test_a_ca_is_read(void **state)
{
	struct cert c = data_cert("ca.pem");

	(void)state;
	assert_true(c.ca);
	assert_int_equal(c.key.type, CERT_KEY_EC);
	assert_int_equal(c.key.curve, 23);
	assert_int_equal(c.key.point.n, 65);
	assert_int_equal(c.alt_names.n, 0);
	assert_same(c.issuer, c.subject);
	assert_slice(text_of(cert_put_subject, &c), "O=Example, CN=sandstorm CA");
	assert_slice(
		text_of(cert_put_validity, &c), "2020-01-01T00:00:00Z to 2100-01-01T00:00:00Z");
}

static void test_a_leaf_is_no_ca(void **state)
{
	struct cert c = data_cert("full.pem"), self = data_cert("self.pem");

	(void)state;
	assert_false(c.ca);
	assert_false(self.ca);
	assert_true(c.alt_names.n > 0);
	assert_slice(text_of(cert_put_subject, &c), "CN=sandstorm");
}

static void test_dates_far_away_are_read(void **state)
{
	struct cert c = data_cert("long.pem");

	(void)state;
	assert_slice(
		text_of(cert_put_validity, &c), "1975-01-01T00:00:00Z to 4096-01-01T00:00:00Z");
}

static void test_each_kind_of_key_is_read(void **state)
{
	struct cert rsa = data_cert("ca-rsa.pem"), p384 = data_cert("ca-p384.pem"),
		    p521 = data_cert("ca-p521.pem");

	(void)state;
	assert_int_equal(rsa.key.type, CERT_KEY_RSA);
	assert_int_equal(rsa.key.n.n, 256);
	assert_slice(rsa.key.e, "\x01\x00\x01");
	assert_int_equal(p384.key.type, CERT_KEY_EC);
	assert_int_equal(p384.key.curve, 24);
	assert_int_equal(p521.key.type, CERT_KEY_EC);
	assert_int_equal(p521.key.curve, 25);
}

static void test_a_key_nobody_can_use_is_another(void **state)
{
	(void)state;
	assert_int_equal(data_cert("ed25519.pem").key.type, CERT_KEY_OTHER);
	assert_int_equal(data_cert("rsa512.pem").key.type, CERT_KEY_OTHER);
}

/* --- addresses --- */

#define V4(s) (LIT(s))
#define V6_ONE LIT("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1")

static void test_an_address_is_found_byte_for_byte(void **state)
{
	struct cert c = data_cert("full.pem");

	(void)state;
	assert_true(cert_has_address(&c, V4("\x7f\0\0\1")));
	assert_true(cert_has_address(&c, V6_ONE));
	assert_false(cert_has_address(&c, V4("\x7f\0\0\2")));
	assert_false(cert_has_address(&c, V4("\x7f\0\0")));
	assert_false(cert_has_address(&c, V4("")));
	assert_false(cert_has_address(&c, LIT("\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1")));
}

static void test_names_are_no_addresses(void **state)
{
	struct cert c = data_cert("dns-ip.pem"), cn = data_cert("cn.pem");

	(void)state;
	assert_false(cert_has_address(&c, V4("\x7f\0\0\1")));
	assert_false(cert_has_address(&c, LIT("127.0.0.1")));
	assert_false(cert_has_address(&cn, V4("\x7f\0\0\1")));
}

/* --- texts --- */

/* A certificate with `to` in the place of the bytes `from`. */
static struct slice changed(const char *name, struct slice from, struct slice to)
{
	struct slice der = data_der(name);
	char *at = (char *)(uintptr_t)memmem(der.p, der.n, from.p, from.n);

	assert_int_equal(from.n, to.n);
	assert_non_null(at);
	memcpy(at, to.p, to.n);
	return der;
}

static void test_a_subject_is_made_printable(void **state)
{
	struct cert c;

	(void)state;
	assert_int_equal(
		cert_parse(&c, changed("ca-p384.pem", LIT("P-384 CA"), LIT("\x1b[2J\xff\n\x7f."))),
		0);
	c.subject = c.issuer; /* the same name, of which the first one was changed */
	assert_slice(text_of(cert_put_subject, &c), "CN=?[2J\xef\xbf\xbd??.");
}

static void test_the_whole_text_has_both_hashes(void **state)
{
	struct cert c = data_cert("ca.pem");
	struct slice s = text_of(cert_put, &c);

	(void)state;
	assert_non_null(memmem(s.p, s.n, "\nSHA-256: ", 10));
	assert_int_equal(s.p[s.n - 1], '\n');
}

/* --- fingerprints --- */

static void test_fingerprints_are_of_the_certificate_or_of_its_key(void **state)
{
	struct cert c = data_cert("ca.pem"), twin = data_cert("twin.pem");
	unsigned char hash[HASH_SIZE];

	(void)state;
	hash_sha256(c.der, hash);
	assert_true(fingerprint_is_of(hash, &c));
	assert_false(fingerprint_is_of(hash, &twin));
	hash_sha256(c.spki, hash);
	assert_true(fingerprint_is_of(hash, &c));
	hash_sha256(c.subject, hash);
	assert_false(fingerprint_is_of(hash, &c));
}

/* The text in memory of its very length, so that a look beyond it is found. */
static bool parses(const char *text, size_t n)
{
	unsigned char hash[HASH_SIZE];
	char *exact = malloc(n + 1);
	bool is;

	assert_non_null(exact);
	memcpy(exact + 1, text, n);
	is = fingerprint_parse((struct slice){ exact + 1, n }, hash);
	free(exact);
	return is;
}

static void test_fingerprints_have_their_whole_length(void **state)
{
	static const char hex[] =
		"00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff00";
	static const char colons[] = "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:"
				     "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00";
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop0=";

	(void)state;
	for (size_t n = 0; n < sizeof(hex); n++)
		assert_int_equal(parses(hex, n), n == 64);
	for (size_t n = 0; n < sizeof(colons); n++)
		assert_int_equal(parses(colons, n), n == 95);
	for (size_t n = 0; n < sizeof(base64); n++)
		assert_int_equal(parses(base64, n), n == 43 || n == 44);
	assert_false(parses("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop1", 43)); /* bits left */
}

/* --- no certificates --- */

static void test_a_cut_certificate_is_refused_wherever_it_is_cut(void **state)
{
	struct slice der = data_der("full.pem");
	struct cert c;

	(void)state;
	for (size_t n = 0; n < der.n; n++)
		assert_int_equal(cert_parse(&c, slice_head(der, n)), -EBADMSG);
}

static void test_bytes_behind_a_certificate_are_refused(void **state)
{
	struct slice der = data_der("full.pem");
	struct cert c;

	(void)state;
	buf_putc(&data_mem, 0);
	assert_int_equal(cert_parse(&c, (struct slice){ der.p, der.n + 1 }), -EBADMSG);
}

static void test_alternative_names_that_come_twice_are_refused(void **state)
{
	struct cert c;

	(void)state;
	/* the identifier of another extension becomes that of the names */
	assert_int_equal(cert_parse(&c, changed("full.pem", LIT("\x06\x03\x55\x1d\x0e"),
						LIT("\x06\x03\x55\x1d\x11"))),
		-EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_element_is_tag_length_and_value),
		cmocka_unit_test(test_long_lengths_have_their_shortest_form),
		cmocka_unit_test(test_integers_are_positive),
		cmocka_unit_test(test_times_have_two_digits_of_the_year_or_four),
		cmocka_unit_test(test_times_that_do_not_exist_are_refused),
		cmocka_unit_test(test_dates_and_seconds_lead_to_each_other),
		cmocka_unit_test_setup(test_a_ca_is_read, start),
		cmocka_unit_test_setup(test_a_leaf_is_no_ca, start),
		cmocka_unit_test_setup(test_dates_far_away_are_read, start),
		cmocka_unit_test_setup(test_each_kind_of_key_is_read, start),
		cmocka_unit_test_setup(test_a_key_nobody_can_use_is_another, start),
		cmocka_unit_test_setup(test_an_address_is_found_byte_for_byte, start),
		cmocka_unit_test_setup(test_names_are_no_addresses, start),
		cmocka_unit_test_setup(test_a_subject_is_made_printable, start),
		cmocka_unit_test_setup(test_the_whole_text_has_both_hashes, start),
		cmocka_unit_test_setup(
			test_fingerprints_are_of_the_certificate_or_of_its_key, start),
		cmocka_unit_test(test_fingerprints_have_their_whole_length),
		cmocka_unit_test_setup(test_a_cut_certificate_is_refused_wherever_it_is_cut, start),
		cmocka_unit_test_setup(test_bytes_behind_a_certificate_are_refused, start),
		cmocka_unit_test_setup(test_alternative_names_that_come_twice_are_refused, start),
	};

	return cmocka_run_group_tests_name("cert", tests, NULL, NULL);
}
