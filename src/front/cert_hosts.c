#include "front/cert_hosts.h"

#include <errno.h>

#include "base/address.h"
#include "base/ascii.h"
#include "base/str.h"
#include "tls/cert_make.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63 }; /* RFC 1035 section 2.3.4 */

static bool is_label(struct slice s)
{
	return s.n > 0 && s.n <= LABEL_MAX && s.p[0] != '-' && s.p[s.n - 1] != '-' &&
	       str_only(s, "-_");
}

/* A name that ends in digits alone is a mistyped address. */
static bool is_number(struct slice label)
{
	for (size_t i = 0; i < label.n; i++)
		if (!ascii_digit(label.p[i]))
			return false;
	return true;
}

static bool is_name(struct slice s)
{
	struct slice label;

	if (s.n > NAME_MAX_BYTES || s.n == 0 || s.p[s.n - 1] == '.')
		return false;
	if (str_starts(s, "*."))
		s = slice_from(s, 2);
	while (s.n > 0) {
		label = str_split(&s, '.');
		if (!is_label(label))
			return false;
	}
	return !is_number(label);
}

/* Names are compared without regard to case; certificates have them in lower case. */
static void put_name(struct buf *alt_names, struct slice name)
{
	char mem[NAME_MAX_BYTES];

	for (size_t i = 0; i < name.n; i++)
		mem[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
	cert_put_dns_name(alt_names, (struct slice){ mem, name.n });
}

static bool put_host(struct buf *alt_names, struct slice host)
{
	unsigned char address[16];
	bool bracket = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	bool v4;

	if (address_parse(bracket ? (struct slice){ host.p + 1, host.n - 2 } : host, address)) {
		v4 = address_is_v4(address);
		cert_put_address(alt_names,
			(struct slice){ (const char *)address + (v4 ? 12 : 0), v4 ? 4 : 16 });
		return true;
	}
	if (!is_name(host))
		return false;
	put_name(alt_names, host);
	return true;
}

int cert_hosts_put(struct slice list, struct buf *alt_names, struct slice *first, struct slice *bad)
{
	struct slice host;

	*first = *bad = (struct slice){ 0 };
	while (list.n > 0) {
		host = str_trim(str_split(&list, ','));
		if (host.n == 0)
			continue;
		if (!put_host(alt_names, host)) {
			*bad = host;
			return -EINVAL;
		}
		if (first->n == 0)
			*first = host;
	}
	if (alt_names->failed)
		return -E2BIG;
	return first->n > 0 ? 0 : -EINVAL;
}
