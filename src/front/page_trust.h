/*
 * The part of the page at "/" that tells how to trust this server's private CA.
 */
#ifndef FRONT_PAGE_TRUST_H
#define FRONT_PAGE_TRUST_H

#include "tls/cert.h"

void page_put_trust(struct buf *b, const struct cert *ca);

#endif
