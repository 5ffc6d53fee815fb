#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

enum { RANDOM_PAUSE_MS = 50 };

/*
 * Bytes that do not repeat within a machine: time, pid and a counter, stirred until each bit
 * depends on all.
 */
static uint64_t unlikely(void)
{
	static uint64_t count;
	struct timespec now;
	uint64_t x;

	clock_gettime(CLOCK_REALTIME, &now);
	x = (uint64_t)now.tv_sec * 1000000007 ^ (uint64_t)now.tv_nsec << 20;
	clock_gettime(CLOCK_MONOTONIC, &now);
	x ^= (uint64_t)now.tv_nsec << 34 ^ (uint64_t)getpid() << 44;
	x += ++count * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* How many of the n bytes the kernel gives now. */
static size_t take(unsigned char *out, size_t n)
{
	size_t done = 0;
	ssize_t r = 1;

	while (done < n && r > 0) {
		r = getrandom(out + done, n - done, GRND_NONBLOCK);
		done += r > 0 ? (size_t)r : 0;
	}
	return done;
}

int random_key(unsigned char *out, size_t n)
{
	return take(out, n) == n ? 0 : -EAGAIN;
}

void random_wait(void)
{
	const struct timespec pause = { 0, RANDOM_PAUSE_MS * 1000000L };
	unsigned char byte;

	while (random_key(&byte, sizeof(byte)) < 0)
		nanosleep(&pause, NULL);
}

void random_name(unsigned char *out, size_t n)
{
	size_t done = take(out, n);
	uint64_t x = 0;

	for (; done < n; done++) {
		if (x == 0)
			x = unlikely();
		out[done] = (unsigned char)x;
		x >>= 8;
	}
}

void random_hex(char *out, size_t n)
{
	unsigned char *raw =
		(unsigned char *)out + n; /* no digit overtakes what is still to be read */

	random_name(raw, n);
	str_hex(raw, n, out);
}
