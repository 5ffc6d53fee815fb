/*
 * Writing DER (ITU-T X.690): elements into a buf, whose failure is sticky.
 */
#ifndef TLS_DER_PUT_H
#define TLS_DER_PUT_H

#include "base/buf.h"
#include "tls/der.h"

/* Begins an element; what is written until der_close with that mark is its value. */
size_t der_open(struct buf *b, enum der_tag tag);
void der_close(struct buf *b, size_t mark);

void der_put(struct buf *b, enum der_tag tag, struct slice value);
/* A positive number, big-endian. */
void der_put_unsigned(struct buf *b, struct slice number);
/* A bit string of whole bytes. */
void der_put_bits(struct buf *b, struct slice bytes);
/* UTCTime up to 2049, then GeneralizedTime (RFC 5280 section 4.1.2.5). */
void der_put_time(struct buf *b, int64_t unix_s);

#endif
