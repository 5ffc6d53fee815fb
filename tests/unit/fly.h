/*
 * Time that flies: between time_fly() and time_walk() the loop of this process sleeps no more. When
 * there is nothing to be done the clock moves on to when the loop would have woken, else it stands
 * still. So what a test says of milliseconds is exact on the busiest machine, and an hour takes no
 * time. Whoever waits for another process lets time walk.
 */
#ifndef FLY_H
#define FLY_H

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "turn.h"

#define FLY_SECOND INT64_C(1000000000)

static struct {
	bool flies;
	int64_t since;         /* when it began to, in nanoseconds of the machine's clock */
	int64_t ahead, behind; /* of that clock: what has flown, and what stood still */
} fly;

static inline int64_t fly_machine(clockid_t id)
{
	struct timespec t;

	syscall(SYS_clock_gettime, id, &t);
	return t.tv_sec * FLY_SECOND + t.tv_nsec;
}

static inline int64_t fly_still(void)
{
	return fly.behind + (fly.flies ? fly_machine(CLOCK_MONOTONIC) - fly.since : 0);
}

static inline void time_fly(void)
{
	fly.since = fly_machine(CLOCK_MONOTONIC);
	fly.flies = true;
	run_ms(0); /* the loop's time is from before */
}

static inline void time_walk(void)
{
	fly.behind = fly_still();
	fly.flies = false;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t now = fly_machine(id) + fly.ahead - fly_still();

	t->tv_sec = now / FLY_SECOND;
	t->tv_nsec = now % FLY_SECOND;
	return 0;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	int n = epoll_pwait(fd, events, max, fly.flies ? 0 : timeout, NULL);

	if (fly.flies && n == 0 && timeout > 0)
		fly.ahead += timeout * (FLY_SECOND / 1000);
	return n;
}

#endif
