/*
 * One epoll loop: watched descriptors, timers, tasks that run just before it sleeps, signals.
 *
 * Watchers, timers and tasks are fields of their owner (find it with container_of); the loop never
 * owns memory. A turn: wait -> ready watchers -> due timers -> tasks. Nothing here may block.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/*
 * LOOP_HANGUP: the peer of a socket will send no more (or is gone). An error or a full hang-up is
 * reported as every wanted event; LOOP_GONE: these alone.
 */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4, LOOP_GONE = 8 };

struct watch {
	int fd;
	unsigned slot; /* 0: not watched */
	unsigned want;
	void (*ready)(struct watch *w, unsigned events);
};

struct timer {
	int64_t due;
	struct timer *next;
	unsigned turn; /* the turn it was set in */
	bool set;
	void (*fire)(struct timer *t);
};

struct task {
	struct task *next;
	bool queued;
	void (*run)(struct task *t);
};

int loop_init(void) __attribute__((warn_unused_result)); /* 0 or -errno */
/* Runs until loop_stop, tasks alone when that was called before; gives its status. May be run
 * again. */
int loop_run(void);
void loop_stop(int status);
int64_t loop_now(void); /* monotonic ms, read once a turn */

/*
 * 0 or -errno (-EMFILE: table full). w->ready is set by the owner. Regular files and /dev/null,
 * which epoll refuses, count as always ready. Delete a watch before closing its descriptor;
 * deleting twice is fine.
 */
int watch_add(struct watch *w, int fd, unsigned want) __attribute__((warn_unused_result));
void watch_want(struct watch *w, unsigned want);
void watch_del(struct watch *w);

void timer_set(struct timer *t, int64_t ms); /* from now; setting again moves it */
void timer_clear(struct timer *t);

/* Runs t once before the loop sleeps next, in the order queued. Queueing a queued task does
 * nothing. */
void loop_defer(struct task *t);

/* Signals arrive as events: TERM, INT, HUP call ended(sig) in the loop; CHLD is the business of
 * loop/proc. PIPE is ignored. */
int signals_init(void (*ended)(int sig)) __attribute__((warn_unused_result));
/* For a child between fork and exec: default dispositions, empty mask. Async-signal-safe. */
void signals_restore(void);

#endif
