/*
 * DER, as far as certificates need it (ITU-T X.690): elements one after another. Borrowed bytes;
 * lengths that are not in their shortest form are refused.
 */
#ifndef TLS_DER_H
#define TLS_DER_H

#include <stdint.h>

#include "base/slice.h"

enum der_tag {
	DER_BOOLEAN = 0x01,
	DER_INTEGER = 0x02,
	DER_BIT_STRING = 0x03,
	DER_OCTET_STRING = 0x04,
	DER_NULL = 0x05,
	DER_OID = 0x06,
	DER_UTF8_STRING = 0x0c,
	DER_PRINTABLE_STRING = 0x13,
	DER_T61_STRING = 0x14,
	DER_IA5_STRING = 0x16,
	DER_UTC_TIME = 0x17,
	DER_GENERALIZED_TIME = 0x18,
	DER_SEQUENCE = 0x30,
	DER_SET = 0x31,
	DER_KEY_ID = 0x80,       /* in an AuthorityKeyIdentifier */
	DER_DNS_NAME = 0x82,     /* in a GeneralName */
	DER_IP_ADDRESS = 0x87,   /* likewise */
	DER_VERSION = 0xa0,      /* in a TBSCertificate */
	DER_CURVE = 0xa0,        /* in an ECPrivateKey */
	DER_PUBLIC_POINT = 0xa1, /* likewise */
	DER_EXTENSIONS = 0xa3,   /* in a TBSCertificate */
};

struct der {
	int tag;
	struct slice value; /* behind tag and length */
	struct slice whole; /* with them */
};

/* Cuts the first element off *in. False: there is none, or its tag or length is none of ours. */
bool der_next(struct slice *in, struct der *out);
/* The same, of that tag; otherwise *in stays as it is. */
bool der_take(struct slice *in, enum der_tag tag, struct slice *value);

/* A positive integer as unsigned bytes without leading zeros. */
bool der_take_unsigned(struct slice *in, struct slice *value);
/* A bit string of whole bytes. */
bool der_take_bits(struct slice *in, struct slice *value);
/* UTCTime or GeneralizedTime as RFC 5280 section 4.1.2.5 has them, in seconds since 1970. */
bool der_take_time(struct slice *in, int64_t *unix_s);

#endif
