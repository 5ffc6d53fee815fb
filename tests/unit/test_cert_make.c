/*
 * Certificates we make: what is read back of them, that a client of ours trusts them and when not,
 * and the DER they are written with.
 */
#include "tls_data.h"

#include <errno.h>

#include "base/clock.h"
#include "tls/cert_make.h"
#include "tls/der_put.h"
#include "tls/verify.h"

/* --- DER --- */

static struct buf out;

static struct slice written(void)
{
	assert_false(out.failed);
	return buf_all(&out);
}

static void test_lengths_are_in_their_shortest_form(void **state)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 255, 256, 65535, 65536, 100000 };

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct buf value = unit_buf(sizes[i] + 1);
		struct slice in, got;

		for (size_t n = 0; n < sizes[i]; n++)
			buf_putc(&value, (char)(n * 7));
		buf_cut(&out, 0);
		der_put(&out, DER_OCTET_STRING, buf_all(&value));
		in = written();
		assert_true(der_take(&in, DER_OCTET_STRING, &got)); /* refuses longer forms */
		assert_same(got, buf_all(&value));
		assert_int_equal(in.n, 0);
		buf_release(&value);
	}
}

static void test_elements_in_elements(void **state)
{
	size_t outer, inner;

	(void)state;
	buf_cut(&out, 0);
	buf_puts(&out, "before");
	outer = der_open(&out, DER_SEQUENCE);
	inner = der_open(&out, DER_SET);
	der_put_unsigned(&out, LIT("\1"));
	der_close(&out, inner);
	der_put(&out, DER_NULL, (struct slice){ 0 });
	der_close(&out, outer);
	assert_slice(written(), "before\x30\x07\x31\x03\x02\x01\x01\x05\x00");
}

static void test_numbers(void **state)
{
	(void)state;
	buf_cut(&out, 0);
	der_put_unsigned(&out, (struct slice){ 0 });
	der_put_unsigned(&out, LIT("\0"));
	der_put_unsigned(&out, LIT("\0\0\x7f"));
	der_put_unsigned(&out, LIT("\x80"));
	der_put_unsigned(&out, LIT("\x12\x34"));
	assert_slice(written(), "\x02\x01\x00\x02\x01\x00\x02\x01\x7f\x02\x02\x00\x80"
				"\x02\x02\x12\x34");
}

static void test_times(void **state)
{
	static const int64_t times[] = { 0, 951782400, 2524607999, 2524608000, 4102444800 };
	struct slice in;
	int64_t back;

	(void)state;
	buf_cut(&out, 0);
	der_put_time(&out, 2524607999);
	der_put_time(&out, 2524608000);
	assert_slice(written(), "\x17\x0d"
				"491231235959Z"
				"\x18\x0f"
				"20500101000000Z");
	for (size_t i = 0; i < COUNT(times); i++) {
		buf_cut(&out, 0);
		der_put_time(&out, times[i]);
		in = written();
		assert_true(der_take_time(&in, &back));
		assert_int_equal(back, times[i]);
	}
}

static void test_what_does_not_fit_is_said(void **state)
{
	char mem[140];
	struct buf small;
	size_t mark;

	(void)state;
	buf_over(&small, mem, sizeof(mem));
	mark = der_open(&small, DER_SEQUENCE);
	for (int i = 0; i < 137; i++)
		buf_putc(&small, 'x');
	der_close(&small, mark); /* its length takes one byte more, and there is just one */
	assert_false(small.failed);
	assert_int_equal(small.len, 140);
	buf_over(&small, mem, sizeof(mem));
	mark = der_open(&small, DER_SEQUENCE);
	for (int i = 0; i < 138; i++)
		buf_putc(&small, 'x');
	der_close(&small, mark);
	assert_true(small.failed);
}

static void test_pem_is_read_as_it_was_written(void **state)
{
	struct buf text = unit_buf(4 * KIB), back = unit_buf(4 * KIB);
	struct slice in, bytes = LIT("0123456789abcdefghijklmnopqrstuvwxyz0123456789abc");

	(void)state;
	for (size_t n = 1; n <= bytes.n; n++) {
		buf_cut(&text, 0);
		buf_cut(&back, 0);
		pem_put(&text, "CERTIFICATE", slice_head(bytes, n));
		in = buf_all(&text);
		assert_int_equal(pem_next(&in, "CERTIFICATE", &back, NULL), 1);
		assert_same(buf_all(&back), slice_head(bytes, n));
		assert_int_equal(in.n, 0);
	}
	assert_slice(buf_all(&text),
		"-----BEGIN CERTIFICATE-----\n"
		"MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6MDEyMzQ1Njc4OWFi\n"
		"Yw==\n"
		"-----END CERTIFICATE-----\n");
	buf_release(&text);
	buf_release(&back);
}

/* --- certificates --- */

static struct tls_key ca_key, key;
static struct buf ca_der, der;
static struct cert ca, cert;

static struct slice names_of(const char *dns, struct slice address)
{
	static char mem[400];
	static struct buf names;

	buf_over(&names, mem, sizeof(mem));
	if (dns)
		cert_put_dns_name(&names, slice_of(dns));
	if (address.n)
		cert_put_address(&names, address);
	assert_false(names.failed);
	return buf_all(&names);
}

static void make_ca(int64_t not_before, int64_t not_after)
{
	struct cert_draft draft = { LIT("a CA"), { 0 }, not_before, not_after };

	buf_cut(&ca_der, 0);
	assert_int_equal(tls_key_make(&ca_key), 0);
	assert_int_equal(cert_make(&ca_der, &draft, &ca_key, NULL, &ca_key), 0);
	assert_int_equal(cert_parse(&ca, buf_all(&ca_der)), 0);
}

static void make_server(int64_t not_before, int64_t not_after)
{
	struct cert_draft draft = { LIT("box.test"), names_of("box.test", LIT("\x0a\x00\x00\x05")),
		not_before, not_after };

	buf_cut(&der, 0);
	assert_int_equal(tls_key_make(&key), 0);
	assert_int_equal(cert_make(&der, &draft, &key, &ca, &ca_key), 0);
	assert_int_equal(cert_parse(&cert, buf_all(&der)), 0);
}

static void test_a_ca_says_what_it_is(void **state)
{
	char mem[100];
	struct buf subject;

	(void)state;
	make_ca(1700000000, 2600000000);
	assert_true(ca.ca);
	assert_int_equal(ca.alt_names.n, 0);
	assert_int_equal(ca.not_before, 1700000000);
	assert_int_equal(ca.not_after, 2600000000);
	assert_same(ca.issuer, ca.subject);
	assert_int_equal(ca.key_id.n, 20);
	assert_true(tls_key_fits(&ca_key, &ca.key));
	buf_over(&subject, mem, sizeof(mem));
	cert_put_subject(&subject, &ca);
	assert_slice(buf_all(&subject), "CN=a CA");
}

static void test_a_server_has_its_names_and_its_issuer(void **state)
{
	(void)state;
	make_ca(1700000000, 2600000000);
	make_server(1700000000, 1800000000);
	assert_false(cert.ca);
	assert_same(cert.issuer, ca.subject);
	assert_true(cert_has_address(&cert, LIT("\x0a\x00\x00\x05")));
	assert_false(cert_has_address(&cert, LIT("\x0a\x00\x00\x06")));
	assert_slice(slice_head(cert.alt_names, 10), "\x82\x08"
						     "box.test");
	assert_true(tls_key_fits(&key, &cert.key));
	assert_false(slice_eq(cert.key_id, ca.key_id));
	assert_non_null(memmem(cert.der.p, cert.der.n, ca.key_id.p, ca.key_id.n));
}

static void test_serials_are_of_one_length_and_never_the_same(void **state)
{
	static const char version[] = "\xa0\x03\x02\x01\x02\x02\x10"; /* 16 bytes follow */
	char seen[8][16];

	(void)state;
	make_ca(1700000000, 2600000000);
	for (int i = 0; i < 8; i++) {
		const char *at;

		make_server(1700000000, 1800000000);
		at = memmem(der.p, der.len, version, sizeof(version) - 1);
		assert_non_null(at);
		memcpy(seen[i], at + sizeof(version) - 1, 16);
		assert_int_equal(seen[i][0] & 0xc0, 0x40);
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(seen[i], seen[k], 16);
	}
}

/* --- as a client of ours sees them --- */

static unsigned judge(const char *host)
{
	static struct buf copy;
	struct tls_roots roots = { .count = 1, .cert = { ca } };
	struct verify v;

	if (!copy.p)
		copy = unit_buf(CERT_MAX);
	buf_reset(&copy, true);
	verify_setup(&v, &roots, host, &copy);
	v.vtable->start_chain(&v.vtable, host);
	v.vtable->start_cert(&v.vtable, (uint32_t)cert.der.n);
	v.vtable->append(&v.vtable, (const unsigned char *)cert.der.p, cert.der.n);
	v.vtable->end_cert(&v.vtable);
	return v.vtable->end_chain(&v.vtable);
}

static void test_a_client_trusts_a_server_by_all_its_names(void **state)
{
	int64_t now = clock_unix();

	(void)state;
	make_ca(now - 3600, now + 86400);
	make_server(now - 3600, now + 86400);
	assert_int_equal(judge("box.test"), 0);
	assert_int_equal(judge("10.0.0.5"), 0);
	assert_int_equal(judge("10.0.0.6"), BR_ERR_X509_BAD_SERVER_NAME);
	assert_int_equal(judge("other.test"), BR_ERR_X509_BAD_SERVER_NAME);
}

static void test_and_no_longer_than_it_is_valid(void **state)
{
	int64_t now = clock_unix();

	(void)state;
	make_ca(now - 3600, now + 86400);
	make_server(now - 7200, now - 3600);
	assert_int_equal(judge("box.test"), BR_ERR_X509_EXPIRED);
	make_server(now + 3600, now + 7200);
	assert_int_equal(judge("box.test"), BR_ERR_X509_EXPIRED);
}

static void test_nor_by_another_ca_of_the_same_name(void **state)
{
	int64_t now = clock_unix();

	(void)state;
	make_ca(now - 3600, now + 86400);
	make_server(now - 3600, now + 86400);
	make_ca(now - 3600, now + 86400);
	assert_int_not_equal(judge("box.test"), 0);
}

static void test_an_rsa_ca_of_somebody_else_signs_as_well(void **state)
{
	struct slice text = data_text("keys/rsa2048.pem");
	char why_mem[200];
	struct buf why;

	(void)state;
	buf_over(&why, why_mem, sizeof(why_mem));
	assert_int_equal(tls_key_read(&ca_key, text, &why), 0);
	ca = data_cert("keys/rsa2048.pem");
	make_server(clock_unix() - 3600, clock_unix() + 3600);
	assert_int_equal(judge("box.test"), 0);
}

static void test_a_signer_of_no_use_makes_nothing(void **state)
{
	struct cert_draft draft = { LIT("box.test"), names_of("box.test", (struct slice){ 0 }),
		1700000000, 1800000000 };
	struct tls_key zero;
	char mem[100];
	struct buf small;

	(void)state;
	make_ca(1700000000, 2600000000);
	tls_key_wipe(&zero);
	assert_int_equal(cert_make(&der, &draft, &ca_key, &ca, &zero), -EINVAL);
	buf_over(&small, mem, sizeof(mem));
	assert_int_equal(cert_make(&small, &draft, &ca_key, &ca, &ca_key), -E2BIG);
}

static int start(void **state)
{
	(void)state;
	out = unit_buf(MIB);
	ca_der = unit_buf(CERT_MAX);
	der = unit_buf(CERT_MAX);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_are_in_their_shortest_form),
		cmocka_unit_test(test_elements_in_elements),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_what_does_not_fit_is_said),
		cmocka_unit_test(test_pem_is_read_as_it_was_written),
		cmocka_unit_test(test_a_ca_says_what_it_is),
		cmocka_unit_test(test_a_server_has_its_names_and_its_issuer),
		cmocka_unit_test(test_serials_are_of_one_length_and_never_the_same),
		cmocka_unit_test(test_a_client_trusts_a_server_by_all_its_names),
		cmocka_unit_test(test_and_no_longer_than_it_is_valid),
		cmocka_unit_test(test_nor_by_another_ca_of_the_same_name),
		cmocka_unit_test(test_an_rsa_ca_of_somebody_else_signs_as_well),
		cmocka_unit_test(test_a_signer_of_no_use_makes_nothing),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
