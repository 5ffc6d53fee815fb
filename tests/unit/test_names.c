/*
 * Lines of /etc/hosts and /etc/resolv.conf, and the order of addresses.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <net/if.h>

#include "base/str.h"
#include "loop/names.h"
#include "loop/prefer.h"

static struct names_config config;

static void read_config(const char *text)
{
	struct slice rest = slice_of(text);

	names_config_init(&config);
	while (rest.n > 0)
		names_config_line(&config, str_split(&rest, '\n'));
	names_config_end(&config);
}

static bool server_is(int i, const char *number, unsigned zone)
{
	union socket_address want;
	unsigned char a[16];

	assert_true(address_parse(slice_of(number), a));
	address_to_socket(a, 53, &want);
	if (zone)
		want.v6.sin6_scope_id = zone;
	return memcmp(&config.server[i], &want, sizeof(want)) == 0;
}

static void test_without_a_file_this_machine_is_asked(void **state)
{
	(void)state;
	read_config("");
	assert_int_equal(config.servers, 1);
	assert_true(server_is(0, "127.0.0.1", 0));
	assert_string_equal(config.search, "");
	assert_int_equal(config.ndots, 1);
	assert_int_equal(config.attempts, 2);
	assert_int_equal(config.timeout_s, 5);
}

static void test_servers_in_their_order_three_at_most(void **state)
{
	(void)state;
	read_config("# by hand\nnameserver 192.0.2.1\n\tnameserver  2001:db8::1  \nnameserver "
		    "fe80::1%lo\n"
		    "nameserver 192.0.2.4\n");
	assert_int_equal(config.servers, 3);
	assert_true(server_is(0, "192.0.2.1", 0));
	assert_true(server_is(1, "2001:db8::1", 0));
	assert_true(server_is(2, "fe80::1", if_nametoindex("lo")));
	read_config("nameserver\nnameserver here\nnameservers 192.0.2.1\n;nameserver 192.0.2.1\n");
	assert_int_equal(config.servers, 1);
	assert_true(server_is(0, "127.0.0.1", 0));
}

static void test_the_last_search_line_counts(void **state)
{
	char text[400];

	(void)state;
	read_config("search a.test\ndomain b.test\nsearch  c.test d.test \n");
	assert_string_equal(config.search, "c.test d.test");
	snprintf(text, sizeof(text), "search a.test\nsearch %0300d\n", 0);
	read_config(text);
	assert_string_equal(config.search, "");
}

static void test_options_within_their_bounds(void **state)
{
	(void)state;
	read_config("options ndots:3 timeout:1 attempts:4 rotate\n");
	assert_int_equal(config.ndots, 3);
	assert_int_equal(config.timeout_s, 1);
	assert_int_equal(config.attempts, 4);
	read_config("options ndots:99 timeout:99 attempts:99\n");
	assert_int_equal(config.ndots, 15);
	assert_int_equal(config.timeout_s, 60);
	assert_int_equal(config.attempts, 10);
	read_config("options ndots:0 timeout:0\noptions attempts:0 ndots: timeout:x\n");
	assert_int_equal(config.ndots, 0);
	assert_int_equal(config.timeout_s, 1);
	assert_int_equal(config.attempts, 1);
}

static bool hosts(const char *line, const char *name, const char *number)
{
	unsigned char a[16], want[16];

	return names_hosts_line(slice_of(line), slice_of(name), a) &&
	       address_parse(slice_of(number), want) && memcmp(a, want, 16) == 0;
}

static void test_lines_of_hosts(void **state)
{
	unsigned char a[16];

	(void)state;
	assert_true(hosts("192.0.2.1 one", "one", "192.0.2.1"));
	assert_true(hosts("\t192.0.2.1\tone.test  ONE\t# two", "one", "192.0.2.1"));
	assert_true(hosts("2001:db8::1 one\r", "one", "2001:db8::1"));
	assert_false(names_hosts_line(LIT("192.0.2.1 one.test"), LIT("one"), a));
	assert_false(names_hosts_line(LIT("192.0.2.1 two # one"), LIT("one"), a));
	assert_false(names_hosts_line(LIT("#192.0.2.1 one"), LIT("one"), a));
	assert_false(names_hosts_line(LIT("192.0.2 one"), LIT("one"), a));
	assert_false(names_hosts_line(LIT("192.0.2.1"), LIT("192.0.2.1"), a));
	assert_false(names_hosts_line(LIT(""), LIT("one"), a));
}

/* What cannot be reached anywhere comes last, the rest stays as it was. */
static void test_reachable_addresses_first(void **state)
{
	unsigned char a[4][16];
	const char *const given[] = { "ff0e::1:0:0:1", "127.0.0.2", "127.0.0.1", "127.0.0.3" };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(address_parse(slice_of(given[i]), a[i]));
	memset(a[0], 0xff, 16); /* no address at all */
	prefer_sort(a, 4);
	assert_true(a[0][15] == 2 && a[1][15] == 1 && a[2][15] == 3);
	assert_int_equal(a[3][0], 0xff);
	prefer_sort(a, 0);
	assert_int_equal(a[0][15], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_file_this_machine_is_asked),
		cmocka_unit_test(test_servers_in_their_order_three_at_most),
		cmocka_unit_test(test_the_last_search_line_counts),
		cmocka_unit_test(test_options_within_their_bounds),
		cmocka_unit_test(test_lines_of_hosts),
		cmocka_unit_test(test_reachable_addresses_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
