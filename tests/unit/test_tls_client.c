/*
 * Who is trusted and who is not: the certificates of tests/unit/data against a client.
 */
#include "tls_peer.h"

#define REFUSED "CERTIFICATE_VERIFY_FAILED: "

#define opens(host, ca, certificate) assert_int_equal(meet(host, ca, certificate), TLS_OPEN)

/* The handshake ends before the client has sent anything that only the right server may read. */
static void refused(const char *host, const char *ca, const char *certificate, const char *why)
{
	char mem[200];
	struct buf b;

	assert_int_equal(meet(host, ca, certificate), TLS_FAILED);
	assert_int_equal(tls_write(&client.stream, LIT("secret")), 0);
	tls_flush(&client.stream);
	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, REFUSED "%s", why);
	assert_same(failure(), buf_all(&b));
	tls_client_end(&client);
	run_until(server.stream.state == TLS_FAILED);
	assert_int_equal(server.got_n, 0);
	both_end();
}

static void not_named(const char *host, const char *certificate)
{
	char mem[200];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "the certificate does not name %s; start the master with --tls-san %s%c",
		host, host, 0);
	refused(host, "ca.pem", certificate, mem);
}

static void not_signed(const char *ca, const char *certificate)
{
	refused("127.0.0.1", ca, certificate, "not signed by the CA in SANDSTORM_CA");
	refused("localhost", ca, certificate, "not signed by the CA in SANDSTORM_CA");
}

static void opens_by_each_name(const char *ca, const char *certificate)
{
	opens("127.0.0.1", ca, certificate);
	both_end();
	opens("localhost", ca, certificate);
	both_end();
}

static void test_a_certificate_with_all_names_opens(void **state)
{
	(void)state;
	opens_by_each_name("ca.pem", "full.pem");
	opens("::1", "ca.pem", "full.pem");
	both_end();
	opens("0:0:0:0:0:0:0:1", "ca.pem", "full.pem");
	both_end();
	opens("MASTER.test", "ca.pem", "full.pem");
}

static void test_rsa_opens(void **state)
{
	(void)state;
	opens_by_each_name("ca-rsa.pem", "rsa.pem");
}

static void test_larger_curves_open(void **state)
{
	(void)state;
	opens_by_each_name("ca-p384.pem", "p384.pem");
	opens_by_each_name("ca-p521.pem", "p521.pem");
}

static void test_a_chain_over_another_ca_opens(void **state)
{
	(void)state;
	opens_by_each_name("ca.pem", "chain.pem");
}

static void test_an_address_alone_opens_for_the_address(void **state)
{
	(void)state;
	opens("127.0.0.1", "ca.pem", "ip.pem");
	both_end();
	not_named("localhost", "ip.pem");
}

static void test_a_name_alone_opens_for_the_name(void **state)
{
	(void)state;
	opens("localhost", "ca.pem", "dns.pem");
	both_end();
	not_named("127.0.0.1", "dns.pem");
}

static void test_an_address_written_as_a_name_is_none(void **state)
{
	(void)state;
	not_named("127.0.0.1", "dns-ip.pem");
	not_named("localhost", "dns-ip.pem");
}

static void test_another_address_is_refused(void **state)
{
	(void)state;
	not_named("127.0.0.1", "otherip.pem");
	not_named("localhost", "otherip.pem");
	not_named("::2", "full.pem");
	not_named("::ffff:127.0.0.1", "full.pem");
}

static void test_an_address_as_the_common_name_is_refused(void **state)
{
	(void)state;
	not_named("127.0.0.1", "cn.pem");
}

static void test_another_name_is_refused(void **state)
{
	(void)state;
	not_named("master.tes", "full.pem");
	not_named("a.master.test", "full.pem");
}

static void test_a_host_without_a_name_is_never_reached(void **state)
{
	int fd[2];

	(void)state;
	trust("ca.pem");
	pair_make(fd);
	peer = (struct tls_peer){ .host = "", .roots = &roots };
	assert_int_equal(tls_client_start(&client, fd[0], &peer), -EINVAL);
	close(fd[1]);
}

/* The date of the test stands in the text, so its ends are looked at. */
static void dated(const char *certificate, const char *end)
{
	struct slice s;

	assert_int_equal(meet("127.0.0.1", "ca.pem", certificate), TLS_FAILED);
	s = failure();
	assert_slice(
		slice_head(s, sizeof(REFUSED) - 1 + 29), REFUSED "not valid at this host's date");
	assert_true(s.n > strlen(end));
	assert_same(slice_from(s, s.n - strlen(end)), slice_of(end));
	both_end();
}

static void test_outside_of_its_dates_a_certificate_is_refused(void **state)
{
	(void)state;
	dated("expired.pem", " (valid 2020-01-01T00:00:00Z to 2021-01-01T00:00:00Z)");
	dated("future.pem", " (valid 2099-01-01T00:00:00Z to 2100-01-01T00:00:00Z)");
}

static void test_dates_beyond_all_clocks_open(void **state)
{
	(void)state;
	opens_by_each_name("ca.pem", "long.pem");
}

static void test_an_unknown_critical_extension_is_refused(void **state)
{
	(void)state;
	refused("127.0.0.1", "ca.pem", "crit.pem", "unsupported certificate (code 57)");
	refused("localhost", "ca.pem", "crit.pem", "unsupported certificate (code 57)");
}

static void test_a_signature_by_sha1_is_refused(void **state)
{
	(void)state;
	refused("127.0.0.1", "ca.pem", "sha1.pem", "unsupported certificate (code 49)");
}

static void test_a_certificate_that_is_its_own_anchor_opens(void **state)
{
	(void)state;
	opens_by_each_name("self.pem", "self.pem");
}

static void test_a_certificate_that_is_no_ca_signs_nothing(void **state)
{
	(void)state;
	not_signed("self.pem", "by-no-ca.pem");
}

static void test_another_ca_of_the_same_name_is_refused(void **state)
{
	(void)state;
	not_signed("twin.pem", "full.pem");
	not_signed("ca-rsa.pem", "full.pem");
}

static void test_the_second_of_two_cas_opens(void **state)
{
	char mem[200];
	struct buf why, both = unit_buf(CA_FILE_MAX);

	(void)state;
	buf_slice(&both, data_text("twin.pem"));
	buf_slice(&both, data_text("ca.pem"));
	buf_over(&why, mem, sizeof(mem));
	tls_roots_drop(&roots);
	assert_int_equal(tls_roots_load(&roots, buf_all(&both), &why), 0);
	assert_int_equal(roots.count, 2);
	server_start(client_connect("127.0.0.1"), "full.pem");
	run_until(client.stream.state == TLS_OPEN);
	buf_release(&both);
}

static void test_a_certificate_too_large_to_search_is_refused_for_an_address(void **state)
{
	(void)state;
	not_named("127.0.0.1", "large.pem");
	opens("host-number-400.test", "ca.pem", "large.pem");
}

/* --- sessions --- */

static void resume(const char *host, bool expected)
{
	server_start(client_connect(host), "full.pem");
	run_until(client.stream.state == TLS_OPEN);
	assert_int_equal(client_resumed(), expected);
	both_end();
}

static void test_a_session_is_resumed(void **state)
{
	(void)state;
	trust("ca.pem");
	resume("127.0.0.1", false);
	resume("127.0.0.1", true);
	resume("127.0.0.1", true);
}

static void test_a_session_is_not_for_another_host(void **state)
{
	(void)state;
	trust("ca.pem");
	resume("127.0.0.1", false);
	resume("localhost", false);
}

static void test_a_server_that_has_forgotten_the_session_is_verified_anew(void **state)
{
	(void)state;
	trust("ca.pem");
	resume("127.0.0.1", false);
	server.cache.vtable = NULL; /* a new cache at the next start */
	resume("127.0.0.1", false);
	resume("127.0.0.1", true);
	server.cache.vtable = NULL;
	server_start(client_connect("127.0.0.1"), "otherip.pem");
	run_until(client.stream.state == TLS_FAILED);
	assert_true(peer.resumable);
	both_end();
	assert_false(peer.resumable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TLS_TEST(test_a_certificate_with_all_names_opens),
		TLS_TEST(test_rsa_opens),
		TLS_TEST(test_larger_curves_open),
		TLS_TEST(test_a_chain_over_another_ca_opens),
		TLS_TEST(test_an_address_alone_opens_for_the_address),
		TLS_TEST(test_a_name_alone_opens_for_the_name),
		TLS_TEST(test_an_address_written_as_a_name_is_none),
		TLS_TEST(test_another_address_is_refused),
		TLS_TEST(test_an_address_as_the_common_name_is_refused),
		TLS_TEST(test_another_name_is_refused),
		TLS_TEST(test_a_host_without_a_name_is_never_reached),
		TLS_TEST(test_outside_of_its_dates_a_certificate_is_refused),
		TLS_TEST(test_dates_beyond_all_clocks_open),
		TLS_TEST(test_an_unknown_critical_extension_is_refused),
		TLS_TEST(test_a_signature_by_sha1_is_refused),
		TLS_TEST(test_a_certificate_that_is_its_own_anchor_opens),
		TLS_TEST(test_a_certificate_that_is_no_ca_signs_nothing),
		TLS_TEST(test_another_ca_of_the_same_name_is_refused),
		TLS_TEST(test_the_second_of_two_cas_opens),
		TLS_TEST(test_a_certificate_too_large_to_search_is_refused_for_an_address),
		TLS_TEST(test_a_session_is_resumed),
		TLS_TEST(test_a_session_is_not_for_another_host),
		TLS_TEST(test_a_server_that_has_forgotten_the_session_is_verified_anew),
	};

	return cmocka_run_group_tests_name("tls client", tests, tls_test_start, NULL);
}
