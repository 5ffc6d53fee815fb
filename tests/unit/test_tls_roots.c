/*
 * Anchors from a text or a file: what is taken, and each refusal with its sentence.
 */
#include "tls_data.h"

#include <errno.h>

static struct tls_roots roots;
static struct buf text, why;
static char why_mem[300], path[64];

static int start(void **state)
{
	int fd;

	(void)state;
	text = unit_buf(2 * CA_FILE_MAX);
	buf_over(&why, why_mem, sizeof(why_mem));
	memcpy(path, "/tmp/roots.XXXXXX", sizeof("/tmp/roots.XXXXXX"));
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int stop(void **state)
{
	(void)state;
	buf_release(&text);
	tls_roots_drop(&roots);
	buf_reset(&data_mem, true);
	return unlink(path);
}

static int load(void)
{
	return tls_roots_load(&roots, buf_all(&text), &why);
}

#define refused(sentence)                                                                          \
	do {                                                                                       \
		assert_int_equal(load(), -EINVAL);                                                 \
		assert_slice(buf_all(&why), sentence);                                             \
		assert_int_equal(roots.count, 0);                                                  \
	} while (0)

static void test_each_certificate_is_an_anchor(void **state)
{
	(void)state;
	buf_slice(&text, data_text("ca.pem"));
	buf_slice(&text, data_text("ca-rsa.pem"));
	buf_slice(&text, data_text("ca-p384.pem"));
	buf_slice(&text, data_text("ca-p521.pem"));
	assert_int_equal(load(), 0);
	assert_int_equal(roots.count, 4);
	assert_true(roots.cert[0].ca && roots.cert[3].ca);
	assert_int_equal(roots.cert[1].key.type, CERT_KEY_RSA);
	assert_same(roots.cert[2].der, data_der("ca-p384.pem"));
	assert_int_equal(why.len, 0);
}

static void test_a_server_certificate_can_be_one(void **state)
{
	(void)state;
	buf_slice(&text, data_text("self.pem"));
	assert_int_equal(load(), 0);
	assert_false(roots.cert[0].ca);
}

static void test_cr_lf_and_text_around_are_fine(void **state)
{
	struct slice pem = data_text("ca.pem");

	(void)state;
	buf_puts(&text, "subject=O = Example\r\n# ours\r\n\r\n");
	for (size_t i = 0; i < pem.n; i++) {
		if (pem.p[i] == '\n')
			buf_putc(&text, '\r');
		buf_putc(&text, pem.p[i]);
	}
	buf_puts(&text, "-----BEGIN EC PARAMETERS-----\r\nBggqhkjOPQMBBw==\r\n"
			"-----END EC PARAMETERS-----\r\nbye");
	assert_int_equal(load(), 0);
	assert_int_equal(roots.count, 1);
}

static void test_loading_again_replaces(void **state)
{
	(void)state;
	buf_slice(&text, data_text("ca.pem"));
	assert_int_equal(load(), 0);
	tls_roots_drop(&roots);
	assert_int_equal(load(), 0);
	assert_int_equal(roots.count, 1);
}

static void test_a_text_without_a_certificate_is_refused(void **state)
{
	(void)state;
	refused("holds no certificate (no line -----BEGIN CERTIFICATE-----)");
	buf_cut(&why, 0);
	buf_slice(&text, data_text("leaf.key"));
	refused("holds no certificate (no line -----BEGIN CERTIFICATE-----)");
}

static void test_a_broken_block_is_refused(void **state)
{
	(void)state;
	buf_slice(&text, data_text("ca.pem"));
	buf_puts(&text, "-----BEGIN CERTIFICATE-----\nAQID\n");
	refused("certificate 2 in it is no whole PEM block");
}

static void test_what_is_no_certificate_is_refused(void **state)
{
	(void)state;
	buf_puts(&text, "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n");
	refused("certificate 1 in it cannot be decoded");
}

static void test_a_key_that_cannot_be_used_is_refused(void **state)
{
	(void)state;
	buf_slice(&text, data_text("ca.pem"));
	buf_slice(&text, data_text("ed25519.pem"));
	refused("certificate 2 in it has a key that is neither RSA (1024 to 4096 bits) nor EC "
		"(P-256, P-384, P-521)");
	buf_cut(&why, 0);
	buf_cut(&text, 0);
	buf_slice(&text, data_text("rsa512.pem"));
	refused("certificate 1 in it has a key that is neither RSA (1024 to 4096 bits) nor EC "
		"(P-256, P-384, P-521)");
}

static void test_eight_are_enough(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		buf_slice(&text, data_text("ca.pem"));
	assert_int_equal(load(), 0);
	assert_int_equal(roots.count, 8);
	tls_roots_drop(&roots);
	buf_slice(&text, data_text("ca.pem"));
	refused("holds more than 8 certificates");
}

static void fill(size_t n)
{
	buf_slice(&text, data_text("ca.pem"));
	while (text.len < n)
		buf_putc(&text, '\n');
}

static void test_a_text_may_have_64_kib(void **state)
{
	(void)state;
	fill(64 * 1024);
	assert_int_equal(load(), 0);
	tls_roots_drop(&roots);
	buf_putc(&text, '\n');
	refused("is larger than 64 KiB");
}

/* --- files --- */

static void write_text(void)
{
	assert_int_equal(replace_file(path, 0600, buf_all(&text)), 0);
}

static void test_a_file_is_read(void **state)
{
	(void)state;
	fill(64 * 1024);
	write_text();
	assert_int_equal(tls_roots_read(&roots, path, &why), 0);
	assert_int_equal(roots.count, 1);
}

static void test_a_larger_file_is_refused(void **state)
{
	(void)state;
	fill(64 * 1024 + 1);
	write_text();
	assert_int_equal(tls_roots_read(&roots, path, &why), -EINVAL);
	assert_slice(buf_all(&why), "is larger than 64 KiB");
}

static void test_a_file_that_cannot_be_read_is_refused(void **state)
{
	(void)state;
	assert_int_equal(tls_roots_read(&roots, "/nonexistent/ca.pem", &why), -EINVAL);
	assert_slice(buf_all(&why), "No such file or directory");
	buf_cut(&why, 0);
	assert_int_equal(tls_roots_read(&roots, "/tmp", &why), -EINVAL);
	assert_slice(buf_all(&why), "Is a directory");
}

static void test_nothing_is_built_into_this_program(void **state)
{
	(void)state;
	assert_null(tls_roots_builtin());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_certificate_is_an_anchor),
		TEST(test_a_server_certificate_can_be_one),
		TEST(test_cr_lf_and_text_around_are_fine),
		TEST(test_loading_again_replaces),
		TEST(test_a_text_without_a_certificate_is_refused),
		TEST(test_a_broken_block_is_refused),
		TEST(test_what_is_no_certificate_is_refused),
		TEST(test_a_key_that_cannot_be_used_is_refused),
		TEST(test_eight_are_enough),
		TEST(test_a_text_may_have_64_kib),
		TEST(test_a_file_is_read),
		TEST(test_a_larger_file_is_refused),
		TEST(test_a_file_that_cannot_be_read_is_refused),
		TEST(test_nothing_is_built_into_this_program),
	};

	return cmocka_run_group_tests_name("roots", tests, NULL, NULL);
}
