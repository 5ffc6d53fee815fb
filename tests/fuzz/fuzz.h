/*
 * What every fuzz harness needs. A harness states what must be true of any input; MUST tells where
 * it is not.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A buf that lasts for the whole run; emptied at each call. */
static inline struct buf *fuzz_buf(struct buf *b, size_t max)
{
	if (!b->p)
		MUST(buf_reserve(b, max) == 0);
	buf_reset(b, true);
	return b;
}

#endif
