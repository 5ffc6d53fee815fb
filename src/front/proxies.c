#include "front/proxies.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "front/cidr.h"
#include "front/origin.h"

static struct cidr networks[PROXIES_MAX];
static int networks_n;
static bool configured;

int proxies_setup(const char *list, struct slice *bad)
{
	struct slice rest = slice_of(list ? list : ""), word;

	configured = list != NULL;
	networks_n = 0;
	while (rest.n) {
		word = str_trim(str_split(&rest, ','));
		if (!word.n)
			continue;
		if (networks_n == PROXIES_MAX || !cidr_parse(word, &networks[networks_n])) {
			*bad = word;
			return -EINVAL;
		}
		networks_n++;
	}
	return 0;
}

bool proxies_trust(const unsigned char peer[16])
{
	if (!configured)
		return address_is_loopback(peer);
	for (int i = 0; i < networks_n; i++)
		if (cidr_has(&networks[i], peer))
			return true;
	return false;
}

/* Cuts the last value off a list. */
static struct slice last_take(struct slice *list)
{
	size_t i = list->n;
	struct slice word;

	while (i > 0 && list->p[i - 1] != ',')
		i--;
	word = str_trim(slice_from(*list, i));
	list->n = i > 0 ? i - 1 : 0;
	return word;
}

/*
 * Each proxy has appended whom it heard from, so the list is read from its end, as long as the one
 * who appended is trusted. What stands further left anybody may have written.
 */
void origin_client(
	const struct http_head *h, const unsigned char peer[16], unsigned char client[16])
{
	struct slice list = h->field[FIELD_FORWARDED_FOR];
	unsigned char addr[16];

	memcpy(client, peer, 16);
	while (list.n && proxies_trust(client)) {
		if (!address_parse_hop(last_take(&list), addr))
			return;
		memcpy(client, addr, 16);
	}
}
