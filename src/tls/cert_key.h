/*
 * The public key of a certificate.
 */
#ifndef TLS_CERT_KEY_H
#define TLS_CERT_KEY_H

#include "tls/cert.h"

/* in: SubjectPublicKeyInfo without tag and length. What is none of ours is CERT_KEY_OTHER. */
void cert_key_read(struct cert_key *k, struct slice in);

/* The number of a curve, as struct cert_key has it; 0: none of ours. */
int cert_key_curve(struct slice oid);
/* Bytes of a coordinate and of a secret number on it; 0: none of ours. */
size_t cert_key_size(int curve);

#endif
