/*
 * The notices that the binary must carry (platform: BearSSL, jsmn and musl are MIT), taken in at
 * build as they stand in vendor/.
 */
#ifndef LICENSES_H
#define LICENSES_H

#include "base/slice.h"

struct license {
	const char *name;
	struct slice text;
};

/* Item i, or one with a NULL name after the last. */
struct license license_at(int i);

#endif
