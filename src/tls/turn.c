#include "tls/turn.h"

#include "loop/loop.h"

static void step(struct timer *timer);

static struct {
	struct turn *first, **end;
	struct timer timer;
} queue = { .end = &queue.first, .timer.fire = step };

/* What at points to is not waiting any more. */
static void cut(struct turn **at)
{
	struct turn *t = *at;

	*at = t->next;
	if (!*at)
		queue.end = at;
	t->waits = false;
}

/* A timer that is set in one turn fires in the next. */
static void step(struct timer *timer)
{
	struct turn *t = queue.first;

	if (!t)
		return;
	cut(&queue.first);
	if (queue.first)
		timer_set(timer, 0);
	t->run(t);
}

void turn_wait(struct turn *t)
{
	if (t->waits)
		return;
	t->waits = true;
	t->next = NULL;
	*queue.end = t;
	queue.end = &t->next;
	if (!queue.timer.set)
		timer_set(&queue.timer, 0);
}

void turn_leave(struct turn *t)
{
	struct turn **at = &queue.first;

	if (!t->waits)
		return;
	while (*at != t)
		at = &(*at)->next;
	cut(at);
}
