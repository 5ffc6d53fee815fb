/*
 * Is this text? Judged by the first bytes, as other tools do: a NUL means no.
 */
#ifndef HOST_FILE_KIND_H
#define HOST_FILE_KIND_H

#include "base/slice.h"

enum { KIND_BYTES = 8192 }; /* how much of the file is worth handing over */

/* NULL for text, else a media type. */
const char *file_kind(struct slice head);

#endif
