/*
 * The public key of a certificate.
 */
#ifndef TLS_CERT_KEY_H
#define TLS_CERT_KEY_H

#include "tls/cert.h"

/* in: SubjectPublicKeyInfo without tag and length. What is none of ours is CERT_KEY_OTHER. */
void cert_key_read(struct cert_key *k, struct slice in);

#endif
