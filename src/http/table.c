/* The table of connections: slots, deadlines, closing. */
#include <errno.h>
#include <sys/mman.h>

#include "http/conn.h"

const struct http_server *http_server;

static struct {
	struct http_conn *conns;
	struct extra *extras;
	struct tls_server *tls; /* likewise; NULL without TLS */
	unsigned max, top, count;
	struct http_conn *free; /* last in, first out */
	struct {
		struct http_conn *first, *last;
	} queues[QUEUES];
	struct timer timer;
	size_t held; /* memory of all connections */
	bool stopping;
} table;

static const int queue_ms[QUEUES] = {
	[QUEUE_HANDSHAKE] = HANDSHAKE_MS,
	[QUEUE_MORE] = PIPELINED_MS,
	[QUEUE_HEAD] = HEAD_MS,
	[QUEUE_BODY] = BODY_MS,
	[QUEUE_IDLE] = IDLE_MS,
	[QUEUE_SEND] = SEND_MS,
	[QUEUE_QUIET] = QUIET_MS,
	[QUEUE_LINGER] = LINGER_MS,
};

/* Zeroed memory that costs nothing until it is touched. */
static void *untouched(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void deadlines(struct timer *t);

int http_init(const struct http_server *s)
{
	http_server = s;
	table.max = s->max_conns;
	table.timer.fire = deadlines;
	table.conns = untouched(table.max * sizeof(*table.conns));
	table.extras = untouched(table.max * sizeof(*table.extras));
	if (s->tls)
		table.tls = untouched(table.max * sizeof(*table.tls));
	return table.conns && table.extras && (table.tls || !s->tls) ? 0 : -ENOMEM;
}

struct extra *conn_extra(const struct http_conn *c)
{
	return &table.extras[c - table.conns];
}

struct tls_server *conn_tls(const struct http_conn *c)
{
	return &table.tls[c - table.conns];
}

struct http_conn *conn_of_tls(const struct tls_server *s)
{
	return &table.conns[s - table.tls];
}

unsigned http_conn_count(void)
{
	return table.count;
}

bool http_stopping(void)
{
	return table.stopping;
}

/* --- deadlines --- */

static void queue_leave(struct http_conn *c)
{
	if (c->queue == QUEUE_NONE)
		return;
	if (c->prev)
		c->prev->next = c->next;
	else
		table.queues[c->queue].first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		table.queues[c->queue].last = c->prev;
	c->queue = QUEUE_NONE;
}

/* The timer may stand earlier than needed: then deadlines() finds nothing and sets it anew. */
static void timer_at_most(int64_t due)
{
	if (!table.timer.set || table.timer.due > due)
		timer_set(&table.timer, due - loop_now());
}

void conn_queue(struct http_conn *c, enum conn_queue q)
{
	queue_leave(c);
	if (q == QUEUE_NONE)
		return;
	c->queue = (unsigned char)q;
	c->due = loop_now() + queue_ms[q];
	c->next = NULL;
	c->prev = table.queues[q].last;
	if (c->prev)
		c->prev->next = c;
	else
		table.queues[q].first = c;
	table.queues[q].last = c;
	timer_at_most(c->due);
}

static void deadlines(struct timer *t)
{
	struct http_conn *c;

	(void)t;
	for (int q = QUEUE_NONE + 1; q < QUEUES; q++) {
		while ((c = table.queues[q].first) && c->due <= loop_now()) {
			conn_queue(c, QUEUE_NONE);
			conn_late(c);
		}
		if (c)
			timer_at_most(c->due);
	}
}

/* --- slots --- */

/*
 * The oldest handshake whose next step is its peer's. One that waits for us, or has just begun, has
 * done nothing wrong.
 */
static struct http_conn *slow_handshake(void)
{
	struct http_conn *c = table.queues[QUEUE_HANDSHAKE].first;
	int64_t latest = loop_now() + HANDSHAKE_MS - HANDSHAKE_GRACE_MS;

	for (; c && c->due <= latest; c = c->next)
		if (!tls_server_owes(conn_tls(c)))
			return c;
	return NULL;
}

/* What makes a connection expendable for the sake of another. */
struct need {
	const struct http_conn *other;
	bool memory; /* it has to hold some, as idle ones never do; else any will do */
	bool strangers;
};

static bool serves(const struct need *n, const struct http_conn *c)
{
	return c != n->other && !c->owed && !(n->strangers && c->trusted) &&
	       (!n->memory || conn_extra(c)->held);
}

/* Of those for whom no job works or has worked the one that has shown no sign of life for longest;
 * or NULL. */
static struct http_conn *quietest(const struct need *n)
{
	static const enum conn_queue order[] = { QUEUE_LINGER, QUEUE_IDLE, QUEUE_HEAD, QUEUE_BODY,
		QUEUE_MORE, QUEUE_SEND };
	struct http_conn *c;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		c = table.queues[order[i]].first;
		if (n->memory && order[i] == QUEUE_IDLE)
			continue;
		while (c && !serves(n, c))
			c = c->next;
		if (c)
			return c;
	}
	return NULL;
}

/* Whom to give up for others (decision 40), a stranger if there is one; NULL: nobody. */
static struct http_conn *expendable(const struct http_conn *other, bool memory)
{
	struct http_conn *c = quietest(&(struct need){ other, memory, .strangers = true });

	return c ? c : quietest(&(struct need){ other, memory, .strangers = false });
}

void conn_held(struct http_conn *c)
{
	struct extra *x = conn_extra(c);
	size_t now = x->in.cap + x->out.cap;
	bool more = now > x->held;
	struct http_conn *other;

	if (now == x->held) /* written only where needed: an untouched page takes no memory */
		return;
	table.held += now - x->held;
	x->held = now;
	while (more && table.held > mem_budget() / CONNS_SHARE && (other = expendable(c, true)))
		conn_close(other);
}

/* Who makes place for a newcomer; NULL: nobody, or a handshake will soon. */
static struct http_conn *least_wanted(void)
{
	if (!table.queues[QUEUE_LINGER].first && table.queues[QUEUE_HANDSHAKE].first)
		return slow_handshake();
	return expendable(NULL, false);
}

static bool is_full(void)
{
	return !table.free && table.top == table.max;
}

bool conn_is_soon_free(void)
{
	return is_full() && table.queues[QUEUE_HANDSHAKE].first && !least_wanted();
}

struct http_conn *conn_take(void)
{
	struct http_conn *c;

	if (is_full()) {
		c = least_wanted();
		if (!c)
			return NULL;
		conn_close(c);
	}
	c = table.free;
	if (c)
		table.free = c->next;
	else
		c = &table.conns[table.top++];
	*c = (struct http_conn){ .state = CONN_HEAD };
	table.count++;
	return c;
}

static void extra_release(struct http_conn *c)
{
	struct extra *x = conn_extra(c);

	if (x->in.max)
		buf_release(&x->in);
	if (x->out.max)
		buf_release(&x->out);
	conn_held(c);
	upload_give(x);
	if (x->parts_n)
		x->parts_n = 0;
	if (x->scanned)
		x->scanned = 0;
}

void conn_close(struct http_conn *c)
{
	unsigned was;

	if (c->state == CONN_FREE)
		return;
	wire_close(c);
	queue_leave(c);
	extra_release(c);
	was = c->state;
	c->state = CONN_FREE;
	if (c->owed)
		c->waiter->sent(c);
	else if (was == CONN_WAIT)
		c->waiter->gone(c, true);
	c->next = table.free;
	table.free = c;
	table.count--;
}

void http_trust(struct http_conn *c)
{
	c->trusted = true;
}

/* --- the end --- */

static const enum conn_queue coming[] = { QUEUE_HANDSHAKE, QUEUE_HEAD, QUEUE_BODY, QUEUE_MORE };

static void queue_close(enum conn_queue q)
{
	while (table.queues[q].first)
		conn_close(table.queues[q].first);
}

void http_stop_accepting(void)
{
	table.stopping = true;
	listen_stop();
}

void http_close_idle(void)
{
	queue_close(QUEUE_IDLE);
}

bool http_expects(void)
{
	size_t i = 0;

	while (i < sizeof(coming) / sizeof(*coming) && !table.queues[coming[i]].first)
		i++;
	return i < sizeof(coming) / sizeof(*coming);
}

void http_stop(void)
{
	http_stop_accepting();
	http_close_idle();
	for (size_t i = 0; i < sizeof(coming) / sizeof(*coming); i++)
		queue_close(coming[i]);
}
