/*
 * The private CA of `sandstorm-mcp cert`, in ca.pem and ca.key of a directory.
 */
#ifndef FRONT_CERT_CA_H
#define FRONT_CERT_CA_H

#include <limits.h>

#include "tls/key.h"
#include "tls/roots.h"

struct cert_ca {
	char cert_path[PATH_MAX], key_path[PATH_MAX];
	struct tls_roots roots; /* its certificate is the first */
	struct tls_key key;
	struct buf der; /* of a new one */
	bool is_new;
};

enum {
	CERT_DAY_S = 24 * 3600,
	CERT_EARLY_S = 3600, /* clocks of clients may be behind */
};

/*
 * The one that is in the directory, or a new one where there is none. ca is zeroed but for the
 * paths. 0, or 1 after a complaint.
 */
int cert_ca_take(struct cert_ca *ca, int64_t now) __attribute__((warn_unused_result));

#endif
