#include "mcp/job.h"

#include <errno.h>

static struct job table[JOBS_MAX + 1]; /* the last one is the spare */
static size_t reply_max;

static bool job_ready(struct job *j)
{
	return buf_ready(&j->text, REQUEST_MAX) && buf_ready(&j->mem, SCRATCH_MAX) &&
	       buf_ready(&j->out, reply_max);
}

/* Slots reserve their address space when they are first used; the first and the spare must always
 * be there. */
int jobs_init(size_t output)
{
	reply_max = REPLY_FACTOR * output + REPLY_EXTRA;
	table[JOBS_MAX].spare = true;
	return job_ready(&table[JOBS_MAX]) && job_ready(&table[0]) ? 0 : -ENOMEM;
}

static void nap_over(struct timer *t)
{
	job_wake(container_of(t, struct job, nap));
}

static enum step job_undo(struct job *j)
{
	enum step (*undo)(struct job * j) = j->undo;

	j->undo = NULL;
	return undo ? undo(j) : STEP_DONE;
}

static void job_resume(struct task *t)
{
	struct job *j = container_of(t, struct job, wake);

	if (!j->waiting)
		return;
	j->waiting = false;
	j->cancel = NULL;
	if (j->muted || j->stopped)
		job_stepped(j, job_undo(j));
	else
		job_stepped(j, j->resume(j));
}

static struct job *job_take(struct job *j, const struct sink *sink, void *peer)
{
	if (!job_ready(j))
		return NULL;
	j->used = true;
	j->sink = sink;
	j->peer = peer;
	j->batch_at = -1;
	j->started = loop_now();
	j->nap.fire = nap_over;
	j->wake.run = job_resume;
	return j;
}

struct job *job_new(const struct sink *sink, void *peer)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (!table[i].used)
			return job_take(&table[i], sink, peer);
	return NULL;
}

struct job *job_new_spare(const struct sink *sink, void *peer)
{
	struct job *j = &table[JOBS_MAX];

	return j->used ? NULL : job_take(j, sink, peer);
}

void job_free(struct job *j)
{
	bool keep = j - table < JOBS_WARM;
	struct job empty = { .text = j->text, .mem = j->mem, .out = j->out, .spare = j->spare };

	timer_clear(&j->nap);
	buf_reset(&empty.text, keep);
	buf_reset(&empty.mem, keep);
	buf_reset(&empty.out, keep);
	*j = empty;
}

void *job_state(struct job *j, size_t size)
{
	j->state = buf_alloc(&j->mem, size);
	return j->state;
}

static void count_spawning(struct job *j, void *n)
{
	*(int *)n += j->spawns;
}

bool job_may_spawn(struct job *j)
{
	int n = 0;

	if (!j->spawns)
		job_each(count_spawning, &n);
	j->spawns = n < JOBS_MAX - JOBS_KEPT;
	return j->spawns;
}

enum step job_wait(struct job *j, enum step (*resume)(struct job *j))
{
	j->resume = resume;
	j->waiting = true;
	return STEP_WAIT;
}

enum step job_nap(struct job *j, int64_t ms, enum step (*resume)(struct job *j))
{
	timer_set(&j->nap, ms);
	return job_wait(j, resume);
}

void job_wake(struct job *j)
{
	loop_defer(&j->wake);
}

void job_stepped(struct job *j, enum step s)
{
	void (*cleanup)(struct job * j) = j->cleanup;

	if (s == STEP_WAIT)
		return;
	j->cleanup = NULL;
	j->undo = NULL;
	if (cleanup)
		cleanup(j);
	j->finish(j);
}

/* In place of a hook that was called already. */
static void cancel_asked(struct job *j)
{
	(void)j;
}

/* What is about to be resumed waits for nothing any more: its child or call is over and must not be
 * touched again. */
void job_interrupt(struct job *j)
{
	void (*cancel)(struct job * j) = j->cancel;

	if (!j->waiting || j->wake.queued)
		return;
	timer_clear(&j->nap);
	if (!cancel) {
		job_wake(j);
		return;
	}
	j->cancel = cancel_asked;
	cancel(j);
}

void job_cancel(struct job *j)
{
	j->muted = true;
	job_interrupt(j);
}

void job_abandon(struct job *j)
{
	j->gone = true;
	job_cancel(j);
}

void job_stop(struct job *j)
{
	j->stopped = true;
	job_interrupt(j);
}

void job_each(void (*fn)(struct job *j, void *ctx), void *ctx)
{
	for (int i = 0; i <= JOBS_MAX; i++)
		if (table[i].used)
			fn(&table[i], ctx);
}

static void stop_each(struct job *j, void *ctx)
{
	(void)ctx;
	job_stop(j);
}

void job_stop_all(void)
{
	job_each(stop_each, NULL);
}

int job_count(void)
{
	int n = 0;

	for (int i = 0; i <= JOBS_MAX; i++)
		n += table[i].used;
	return n;
}
