/*
 * Bytes that nobody may guess: compared without telling where they differ, wiped after use.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/slice.h"

/*
 * Is given the secret? The time depends on the length of given alone. An empty secret equals
 * nothing, so that what was never set opens nothing.
 */
bool secret_eq(struct slice given, struct slice secret);
/* Zeroes that the compiler cannot leave out. */
void secret_wipe(void *p, size_t n);

#endif
