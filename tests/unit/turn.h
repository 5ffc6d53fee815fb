/*
 * Turns of the loop: for a time, where nothing should come, or until something has come, where it
 * should; a busy machine may take long over it.
 */
#ifndef TURN_H
#define TURN_H

#include "base/clock.h"
#include "loop/loop.h"

enum { TURN_PATIENCE_MS = 20 * 1000 };

static inline void turn_over(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

/* May end sooner, where the test stops the loop. */
static inline void run_ms(int64_t ms)
{
	struct timer t = { .fire = turn_over };

	timer_set(&t, ms);
	loop_run();
	timer_clear(&t);
}

/* The assertion fails when it is not so in the end. */
#define RUN_UNTIL(what, assertion)                                                                 \
	do {                                                                                       \
		int64_t give_up_ = clock_ms() + TURN_PATIENCE_MS;                                  \
		while (!(what) && clock_ms() < give_up_)                                           \
			run_ms(5);                                                                 \
		assertion(what);                                                                   \
	} while (0)

#endif
