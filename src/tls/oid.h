/*
 * Object identifiers (ITU-T X.660) as DER has them, without tag and length.
 */
#ifndef TLS_OID_H
#define TLS_OID_H

#define OID_RSA "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"        /* RFC 3279 section 2.3.1 */
#define OID_RSA_SHA256 "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b" /* RFC 4055 section 5 */
#define OID_EC "\x2a\x86\x48\xce\x3d\x02\x01"                 /* RFC 5480 section 2.1.1 */
#define OID_P256 "\x2a\x86\x48\xce\x3d\x03\x01\x07"
#define OID_P384 "\x2b\x81\x04\x00\x22"
#define OID_P521 "\x2b\x81\x04\x00\x23"
#define OID_ECDSA_SHA256 "\x2a\x86\x48\xce\x3d\x04\x03\x02" /* RFC 5758 section 3.2 */

#define OID_COMMON_NAME "\x55\x04\x03"

/* extensions, RFC 5280 section 4.2.1 */
#define OID_SUBJECT_KEY_ID "\x55\x1d\x0e"
#define OID_KEY_USAGE "\x55\x1d\x0f"
#define OID_ALT_NAME "\x55\x1d\x11"
#define OID_BASIC_CONSTRAINTS "\x55\x1d\x13"
#define OID_AUTHORITY_KEY_ID "\x55\x1d\x23"
#define OID_EXT_KEY_USAGE "\x55\x1d\x25"
#define OID_SERVER_AUTH "\x2b\x06\x01\x05\x05\x07\x03\x01"

#endif
