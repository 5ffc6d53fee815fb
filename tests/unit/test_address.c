/*
 * Addresses: text, bytes and the kernel's form are the same thing.
 */
#include "address_text.h"

static void test_text_becomes_bytes_and_text_again(void **state)
{
	unsigned char a[16];

	(void)state;
	assert_true(address_parse(LIT("127.0.0.1"), a));
	assert_address(a, "127.0.0.1");
	assert_true(address_parse(LIT("::1"), a));
	assert_address(a, "0:0:0:0:0:0:0:1");
	assert_true(address_parse(LIT("fd00:1:2::ABCD"), a));
	assert_address(a, "fd00:1:2:0:0:0:0:abcd");
	assert_true(address_parse(LIT("::ffff:1.2.3.4"), a));
	assert_address(a, "1.2.3.4");
}

static void test_what_is_no_address(void **state)
{
	static const char *const bad[] = { "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1",
		"[::1]", "::1%lo", "fe80::1%1", "1.2.3.4:80", ":", "12345::", "0x7f.0.0.1",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999",
		"1111:2222:3333:4444:5555:6666:255.255.255.255555" };
	unsigned char a[16];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(address_parse(slice_of(bad[i]), a));
	assert_false(address_parse(LIT("1.2.3.4\0"), a));
}

static bool loopback(const char *text)
{
	unsigned char a[16];

	assert_true(address_parse(slice_of(text), a));
	return address_is_loopback(a);
}

static void test_what_is_loopback(void **state)
{
	(void)state;
	assert_true(loopback("127.0.0.1"));
	assert_true(loopback("127.255.255.255"));
	assert_true(loopback("::1"));
	assert_true(loopback("::ffff:127.0.0.1"));
	assert_false(loopback("126.0.0.1"));
	assert_false(loopback("128.0.0.1"));
	assert_false(loopback("::"));
	assert_false(loopback("::7f00:1"));
	assert_false(loopback("fe80::1"));
}

static void socket_form(const char *text, int family, socklen_t len)
{
	unsigned char a[16], back[16] = { 0 };
	union socket_address s;

	assert_true(address_parse(slice_of(text), a));
	assert_int_equal(address_to_socket(a, 0x1234, &s), len);
	assert_int_equal(s.any.sa_family, family);
	address_from_socket(&s, back);
	assert_memory_equal(a, back, 16);
	/* the port stands at the same place of both */
	assert_int_equal(ntohs(s.v4.sin_port), 0x1234);
	assert_int_equal(ntohs(s.v6.sin6_port), 0x1234);
}

static void test_the_kernels_form_and_back(void **state)
{
	(void)state;
	socket_form("192.0.2.7", AF_INET, sizeof(struct sockaddr_in));
	socket_form("2001:db8::7", AF_INET6, sizeof(struct sockaddr_in6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_becomes_bytes_and_text_again),
		cmocka_unit_test(test_what_is_no_address),
		cmocka_unit_test(test_what_is_loopback),
		cmocka_unit_test(test_the_kernels_form_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
