/*
 * What every unit test needs: cmocka with the headers it wants before it, comparison of slices, and
 * a way to ask the kernel whether memory may be read.
 */
#ifndef UNIT_H
#define UNIT_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* s holds exactly the bytes of the literal, which may hold NUL. */
#define assert_slice(s, literal) unit_slice((s), LIT(literal), __FILE__, __LINE__)
#define assert_same(a, b) unit_slice((a), (b), __FILE__, __LINE__)

static inline void unit_slice(struct slice got, struct slice want, const char *file, int line)
{
	if (slice_eq(got, want))
		return;
	fprintf(stderr, "got  (%zu): %.*s\nwant (%zu): %.*s\n", got.n, SLICE(got), want.n,
		SLICE(want));
	_fail(file, line);
}

static inline struct buf unit_buf(size_t max)
{
	struct buf b;

	assert_int_equal(buf_reserve(&b, max), 0);
	return b;
}

/* Would reading the byte at p raise no signal? */
static inline bool unit_readable(const void *p)
{
	int fd[2];
	ssize_t n;

	assert_int_equal(pipe(fd), 0);
	n = write(fd[1], p, 1);
	close(fd[0]);
	close(fd[1]);
	return n == 1;
}

/* How many descriptors this process has open. */
static inline int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

#endif
