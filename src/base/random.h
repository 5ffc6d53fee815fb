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
/* The same as 2n hex digits and a NUL. */
void random_hex(char *out, size_t n);
/* n bytes for keys and secrets, without blocking. 0, or -EAGAIN before the kernel's pool is ready.
 */
int random_key(unsigned char *out, size_t n) __attribute__((warn_unused_result));
/* Until random_key has some: blocks, for commands that have nothing else to do. */
void random_wait(void);

#endif
