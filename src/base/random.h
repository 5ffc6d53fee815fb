/*
 * Random bytes from the kernel.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/*
 * n bytes for names that must not collide or be guessed (temporary files, job tags), without
 * blocking: before the kernel's pool is ready (early boot) time and pid are mixed in instead. Never
 * for keys.
 */
void random_name(unsigned char *out, size_t n);

#endif
