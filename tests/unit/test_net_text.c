/*
 * SANDSTORM_IP: what it means, and what is refused with which words.
 */
#include "address_text.h"

#include "boot/net_text.h"

static void parse(const char *text, struct net *n)
{
	assert_null(net_parse(slice_of(text), n));
}

static void test_an_address_alone(void **state)
{
	struct net n;

	(void)state;
	parse("192.168.1.5/24", &n);
	assert_address(n.address, "192.168.1.5");
	assert_int_equal(n.bits, 24);
	assert_false(net_given(n.gateway));
	assert_false(net_given(n.dns));
}

static void test_with_gateway_and_dns(void **state)
{
	struct net n;

	(void)state;
	parse("10.0.2.15/8,10.255.255.254,1.1.1.1", &n);
	assert_int_equal(n.bits, 8);
	assert_address(n.gateway, "10.255.255.254");
	assert_address(n.dns, "1.1.1.1");
}

static void test_a_field_may_be_empty(void **state)
{
	struct net n;

	(void)state;
	parse("10.0.2.15/24,,10.0.2.3", &n);
	assert_false(net_given(n.gateway));
	assert_address(n.dns, "10.0.2.3");
	parse("10.0.2.15/24,,", &n);
	assert_false(net_given(n.dns));
	parse("10.0.2.15/24,", &n);
	parse("10.0.2.15/32", &n);
}

static void test_ipv6(void **state)
{
	struct net n;

	(void)state;
	parse("fd00::15/64,fd00::1,fd00::53", &n);
	assert_address(n.address, "fd00:0:0:0:0:0:0:15");
	assert_address(n.gateway, "fd00:0:0:0:0:0:0:1");
	assert_int_equal(n.bits, 64);
	parse("2001:db8::15/128,fe80::1", &n); /* a router of the link */
	parse("2001:db8::15/63,2001:db8:0:1::1,9.9.9.9", &n);
	parse("::2/126,::3", &n);
}

static void refused(const char *text, const char *words)
{
	struct net n;
	const char *wrong = net_parse(slice_of(text), &n);

	if (!wrong || !strstr(wrong, words))
		fail_msg("%s: %s", text, wrong ? wrong : "taken");
}

static void test_what_is_no_address_with_a_length(void **state)
{
	static const char *const bad[] = { "", "10.0.2.15", "10.0.2.15/", "10.0.2.15/0",
		"10.0.2.15/33", "10.0.2.15/-1", "10.0.2.15/24x", "10.0.2.15/24/24", "/24",
		"eth0/24", "dhcp", "10.0.2/24", "fd00::1/129", "[fd00::1]/64", " 10.0.2.15/24",
		"10.0.2.15/255.255.255.0", ",10.0.2.2" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "an address and the length of its prefix");
}

static void test_addresses_that_no_machine_has(void **state)
{
	static const char *const bad[] = { "0.0.0.0/24", "127.0.0.2/8", "224.0.0.1/24",
		"255.255.255.255/32", "::/64", "::1/128", "ff02::1/64" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "an address and the length of its prefix");
}

static void test_a_gateway_that_cannot_be_reached(void **state)
{
	static const char *const bad[] = { "10.0.2.15/24,10.0.3.1", "10.0.2.15/25,10.0.2.129",
		"10.0.2.15/31,10.0.2.16", "10.0.2.15/24,10.0.2.15", "10.0.2.15/24,fd00::1",
		"fd00::15/64,10.0.2.2", "fd00::15/64,fd00:0:0:1::1", "fd00::15/64,ff02::1",
		"fd00::15/65,fd00::8000:0:0:1", "10.0.2.15/24,gateway",
		"10.0.2.15/24,10.0.2.2/24" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "a gateway that is not another address of that network");
}

static void test_a_dns_server_is_one_address(void **state)
{
	static const char *const bad[] = { "10.0.2.15/24,,dns",
		"10.0.2.15/24,10.0.2.2,1.1.1.1,9.9.9.9", "10.0.2.15/24,,,",
		"10.0.2.15/24,,1.1.1.1/32" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "a DNS server that is no address");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_alone),
		cmocka_unit_test(test_with_gateway_and_dns),
		cmocka_unit_test(test_a_field_may_be_empty),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_what_is_no_address_with_a_length),
		cmocka_unit_test(test_addresses_that_no_machine_has),
		cmocka_unit_test(test_a_gateway_that_cannot_be_reached),
		cmocka_unit_test(test_a_dns_server_is_one_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
