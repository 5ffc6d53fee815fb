/*
 * The notices that the binary must carry (platform: BearSSL, jsmn and musl are MIT): musl's as it
 * stands in vendor/, taken in at build, and for the others their copyright and the same permission.
 */
#ifndef LICENSES_H
#define LICENSES_H

#include "base/slice.h"

struct license {
	const char *name;
	const char *copyright; /* where the text does not begin with it */
	struct slice text;
};

/* Item i, or one with a NULL name after the last. */
struct license license_at(int i);

#endif
