/*
 * The names of a server, as `sandstorm-mcp cert --host` takes them.
 */
#ifndef FRONT_CERT_HOSTS_H
#define FRONT_CERT_HOSTS_H

#include "base/buf.h"

/*
 * A comma list of DNS names (a label "*" may come first) and IP addresses as the alternative names
 * of a certificate. *first: the first of them, as in the list. 0; -EINVAL with the word that is
 * neither in *bad, empty: there is none at all; -E2BIG: alt_names is full.
 */
int cert_hosts_put(struct slice list, struct buf *alt_names, struct slice *first, struct slice *bad)
	__attribute__((warn_unused_result));

#endif
