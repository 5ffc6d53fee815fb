/*
 * The certificates of tests/unit/data, see make-certs there.
 */
#ifndef TLS_DATA_H
#define TLS_DATA_H

#include "unit.h"

#include "base/file.h"
#include "bounds.h"
#include "tls/pem.h"
#include "tls/roots.h"

/* Texts of the files of one test, which stay until the next one. */
static struct buf data_mem;

static inline struct slice data_text(const char *name)
{
	char path[200];
	size_t from;

	if (!data_mem.p)
		data_mem = unit_buf(MIB);
	from = data_mem.len;
	snprintf(path, sizeof(path), "tests/unit/data/%s", name);
	if (read_file(path, &data_mem) < 0)
		fail_msg("%s cannot be read; run this from the top of the repository", path);
	return slice_from(buf_all(&data_mem), from);
}

/* The block with that label, as DER. */
static inline struct slice data_block(const char *name, const char *label)
{
	struct slice text = data_text(name);
	size_t from = data_mem.len;

	assert_int_equal(pem_next(&text, label, &data_mem, NULL), 1);
	return slice_from(buf_all(&data_mem), from);
}

static inline struct slice data_der(const char *name)
{
	return data_block(name, "CERTIFICATE");
}

static inline struct cert data_cert(const char *name)
{
	struct cert c;

	assert_int_equal(cert_parse(&c, data_der(name)), 0);
	return c;
}

#endif
