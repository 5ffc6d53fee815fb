/*
 * The X.509 engine of clients: BearSSL's minimal one, which knows only DNS names, with IP addresses
 * added and with what a person needs to know of a refusal. For tls/ alone: shows BearSSL's types.
 */
#ifndef TLS_VERIFY_H
#define TLS_VERIFY_H

#include <bearssl.h>

#include "tls/roots.h"

struct verify {
	const br_x509_class *vtable; /* first, so that BearSSL sees an engine */
	br_x509_minimal_context minimal;
	br_x509_trust_anchor anchors[ROOTS_MAX];
	const char *host;
	unsigned char address[16];
	size_t address_n; /* 4 or 16: the host is an address; 0: a DNS name */
	struct buf *cert; /* the certificate that is arriving */
	int nth;          /* how many have come; 0 after a short handshake */
	bool address_found;
	int64_t now; /* of the check, in seconds since 1970 */
	/* of the first certificate that is not valid now, if dated */
	bool dated;
	int64_t not_before, not_after;
};

/*
 * cert: a buf of CERT_MAX, empty whenever no chain is being read. host is not empty; it and roots
 * stay as they are while v is used.
 */
void verify_setup(
	struct verify *v, const struct tls_roots *roots, const char *host, struct buf *cert);

/* 4 or 16, with the bytes of an IP literal in out; 0: host is a name. */
size_t verify_address(const char *host, unsigned char out[16]);

#endif
