#include <string.h>

#include "bounds.h"
#include "front/auth.h"
#include "loop/loop.h"

/* One caller. Free while used is 0. */
struct row {
	unsigned char key[16];
	int64_t used; /* when it was looked up last, in loop time; never 0 for a taken row */
	int64_t mark; /* requests: the window's start; failures: no try before */
	int64_t count;
};

struct table {
	struct row rows[RATE_KEYS];
	struct row *last; /* callers come in runs */
};

static struct table requests[RATE_CALLERS], failures;
static int64_t requests_most;

/* An IPv6 network of 64 bits is one caller: whoever has one address of it has all. */
static void key_of(const unsigned char peer[16], unsigned char key[16])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(key, peer, 16);
	if (memcmp(peer, mapped, sizeof(mapped)) != 0)
		memset(key + 8, 0, 8);
}

/* The row of key, or the one to be used for it: a free one or that which was quiet longest. */
static struct row *row_find(struct table *t, const unsigned char key[16])
{
	struct row *oldest = t->rows;

	if (t->last && memcmp(t->last->key, key, 16) == 0)
		return t->last;
	for (struct row *r = t->rows; r < t->rows + RATE_KEYS; r++) {
		if (!r->used || memcmp(r->key, key, 16) == 0)
			return r; /* rows are taken in order: behind a free one all are free */
		if (r->used < oldest->used)
			oldest = r;
	}
	return oldest;
}

/* Takes the row of a peer; one that was idle for forget_ms or more starts anew. */
static struct row *row_take(struct table *t, const unsigned char peer[16], int64_t forget_ms)
{
	unsigned char key[16];
	struct row *r;
	int64_t now = loop_now();

	key_of(peer, key);
	r = row_find(t, key);
	if (!r->used || memcmp(r->key, key, 16) != 0 || now - r->used >= forget_ms) {
		*r = (struct row){ .mark = now };
		memcpy(r->key, key, 16);
	}
	r->used = now > 0 ? now : 1;
	t->last = r;
	return r;
}

/* Whole seconds until then, at least one. */
static int seconds_until(int64_t then)
{
	return (int)((then - loop_now() + 999) / 1000);
}

/* --- requests --- */

void rate_setup(int64_t most)
{
	requests_most = most;
	memset(requests, 0, sizeof(requests));
	memset(&failures, 0, sizeof(failures));
}

int rate_request(enum rate_caller who, const unsigned char peer[16])
{
	struct row *r;

	if (requests_most == 0)
		return 0;
	r = row_take(&requests[who], peer, RATE_WINDOW_MS);
	if (loop_now() - r->mark >= RATE_WINDOW_MS) {
		r->mark = loop_now();
		r->count = 0;
	}
	if (r->count >= requests_most)
		return seconds_until(r->mark + RATE_WINDOW_MS);
	r->count++;
	return 0;
}

/* --- failures --- */

/* How long the next try has to wait after so many failures. */
static int64_t failure_delay(int64_t count)
{
	int64_t delay = 1000;

	if (count < FAILURES_FREE)
		return 0;
	for (; count > FAILURES_FREE && delay < FAILURE_DELAY_MAX_MS; count--)
		delay *= 2;
	return delay < FAILURE_DELAY_MAX_MS ? delay : FAILURE_DELAY_MAX_MS;
}

int rate_failure(const unsigned char peer[16])
{
	struct row *r = row_take(&failures, peer, FAILURES_FORGET_MS);

	if (loop_now() < r->mark)
		return seconds_until(r->mark);
	r->count++;
	r->mark = loop_now() + failure_delay(r->count);
	return 0;
}
