#include "loop/names.h"

#include <net/if.h>

#include "base/str.h"

enum { PORT = 53 };

void names_config_init(struct names_config *c)
{
	*c = (struct names_config){ .ndots = 1, .attempts = 2, .timeout_s = 5 };
}

/* A link-local address has a zone: fe80::1%eth0. */
static void server_add(struct names_config *c, struct slice zone)
{
	struct slice number = str_split(&zone, '%');
	union socket_address *s = &c->server[c->servers];
	unsigned char address[16];
	char name[IF_NAMESIZE];

	if (c->servers == NAME_SERVERS_MAX || !address_parse(number, address))
		return;
	address_to_socket(address, PORT, s);
	if (zone.n > 0 && str_c(zone, name, sizeof(name)) == 0)
		s->v6.sin6_scope_id = if_nametoindex(name);
	c->servers++;
}

static void option_take(
	struct slice word, const char *name, int64_t least, int64_t most, int64_t *to)
{
	int64_t n;

	if (!str_starts(word, name) || str_int(slice_from(word, strlen(name)), &n) < 0)
		return;
	*to = n < least ? least : n > most ? most : n;
}

static void options_take(struct names_config *c, struct slice rest)
{
	struct slice word;

	while ((word = str_word(&rest)).n > 0) {
		option_take(word, "ndots:", 0, 15, &c->ndots);
		option_take(word, "attempts:", 1, 10, &c->attempts);
		option_take(word, "timeout:", 1, 60, &c->timeout_s);
	}
}

void names_config_line(struct names_config *c, struct slice line)
{
	struct slice what = str_word(&line), domains = str_trim(line);

	if (slice_is(what, "nameserver"))
		server_add(c, str_word(&line));
	else if (slice_is(what, "options"))
		options_take(c, line);
	else if ((slice_is(what, "search") || slice_is(what, "domain")) &&
		 str_c(domains, c->search, sizeof(c->search)) < 0)
		c->search[0] = '\0';
}

void names_config_end(struct names_config *c)
{
	if (c->servers == 0)
		server_add(c, LIT("127.0.0.1"));
}

bool names_hosts_line(struct slice line, struct slice name, unsigned char address[16])
{
	struct slice rest = str_split(&line, '#'), number = str_word(&rest), word;

	while ((word = str_word(&rest)).n > 0)
		if (str_same(word, name))
			return address_parse(number, address);
	return false;
}
