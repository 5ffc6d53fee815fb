/*
 * For tests of the loop: who was called, in which order, and with what.
 */
#ifndef EAR_H
#define EAR_H

#include "apart.h"

#include <sys/socket.h>

static char order[64]; /* a letter for each call, in turn */

static inline void mark(char letter)
{
	size_t n = strlen(order);

	CHECK(n + 1 < sizeof(order));
	order[n] = letter;
}

static inline bool order_is(const char *want)
{
	bool same = strcmp(order, want) == 0;

	if (!same)
		fprintf(stderr, "got %s, want %s\n", order, want);
	memset(order, 0, sizeof(order));
	return same;
}

/* A watch that notes what it hears. */
struct ear {
	struct watch w;
	int far; /* the other end */
	int calls;
	unsigned last; /* events of the last call */
};

static inline void ear_ready(struct watch *w, unsigned events)
{
	struct ear *e = container_of(w, struct ear, w);

	e->calls++;
	e->last = events;
	loop_stop(0);
}

static inline void ear_open(struct ear *e, unsigned want)
{
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	*e = (struct ear){ .w = { .ready = ear_ready }, .far = ends[1] };
	CHECK(watch_add(&e->w, ends[0], want) == 0);
}

/* A test of that name in a process of its own, where nothing of the others is left. */
#define APART(name)                                                                                \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		apart(name);                                                                       \
	}

#endif
