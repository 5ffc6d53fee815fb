#include "host/session_remove.h"

#include <errno.h>
#include <signal.h>

#include "base/log.h"
#include "host/path.h"
#include "host/session_dir.h"
#include "host/tree_copy.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "loop/worker.h"

enum { LOOK_MS = 50 }; /* while what commands left behind has time to end */

static struct remover {
	struct worker worker;
	struct timer look;
	int64_t give_up;         /* when what is left gets KILL */
	struct session *session; /* NULL: free */
	struct place at;
	int keep[2];
} removers[SESSION_REMOVERS];

static struct session_table *table;
static void (*tell_removed)(struct session *s);
static struct session_removal *waiting;

static void start_due(struct task *t);
static struct task start_task = { .run = start_due };

void session_remove_setup(struct session_table *t, void (*removed)(struct session *s))
{
	table = t;
	tell_removed = removed;
}

/* --- the end of a try --- */

static void tell_waiting(struct session *s, int err)
{
	struct session_removal **at = &waiting, *r;

	while ((r = *at)) {
		if (r->session != s) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		r->session = NULL;
		r->err = err;
		r->done(r);
	}
}

static void log_stuck(const struct session *s, int err)
{
	const struct log_field fields[] = {
		{ "session", slice_of(s->id) },
		{ "error", slice_of(strerror(-err)) },
		{ 0 },
	};

	log_event(LOG_WARN, "files of a session could not all be removed", fields);
}

static void ended(struct session *s, int err)
{
	s->files = err < 0 ? FILES_STUCK : FILES_GONE;
	if (err < 0 && !s->stuck)
		log_stuck(s, err);
	s->stuck = err < 0;
	tell_waiting(s, err);
	tell_removed(s);
}

/* --- a try --- */

static void remove_work(struct worker *w, struct outcome *o)
{
	struct remover *r = container_of(w, struct remover, worker);

	o->err = tree_remove(r->at.dir, r->at.name);
}

static void remove_done(struct worker *w)
{
	struct remover *r = container_of(w, struct remover, worker);
	struct session *s = r->session;

	place_close(&r->at);
	r->session = NULL;
	loop_defer(&start_task);
	ended(s, w->outcome.err);
}

static void start_work(struct remover *r)
{
	struct session *s = r->session;
	int err = session_dir_find(s, &r->at);

	if (err == 0) {
		r->keep[0] = r->at.dir;
		r->keep[1] = -1;
		r->worker = (struct worker){
			.work = remove_work, .done = remove_done, .keep = r->keep
		};
		err = worker_start(&r->worker);
	}
	if (err == 0)
		return;
	place_close(&r->at);
	r->session = NULL;
	loop_defer(&start_task);
	ended(s, err == -ENOENT ? 0 : err);
}

/* Who was left behind in the background would write where nothing is any more. */
static void look(struct timer *t)
{
	struct remover *r = container_of(t, struct remover, look);
	bool late = loop_now() >= r->give_up;

	if (child_signal_kin(session_kin(r->session), late ? SIGKILL : 0) == 0 || late)
		start_work(r);
	else
		timer_set(t, LOOK_MS);
}

static void start(struct remover *r, struct session *s)
{
	r->session = s;
	s->files = FILES_GOING;
	r->look.fire = look;
	r->give_up = loop_now() + KILL_GRACE_MS;
	if (s->ran && child_signal_kin(session_kin(s), SIGTERM) > 0)
		timer_set(&r->look, LOOK_MS);
	else
		start_work(r);
}

static struct remover *free_remover(void)
{
	for (int i = 0; i < SESSION_REMOVERS; i++)
		if (!removers[i].session)
			return &removers[i];
	return NULL;
}

static void start_due(struct task *t)
{
	struct session *s = NULL;
	struct remover *r;

	(void)t;
	while ((r = free_remover()) && (s = session_next(table, s)))
		if (s->state == SESSION_CLEANED && s->files == FILES_DUE && !s->running)
			start(r, s);
}

void session_remove(struct session *s)
{
	if (s->files == FILES_THERE || s->files == FILES_STUCK)
		s->files = FILES_DUE;
	if (s->files == FILES_DUE)
		loop_defer(&start_task);
}

/* --- waiting for it --- */

bool session_removal_wait(struct session_removal *r, struct session *s)
{
	if (s->files == FILES_GONE)
		return false;
	r->session = s;
	r->next = waiting;
	waiting = r;
	session_remove(s);
	return true;
}

void session_removal_forget(struct session_removal *r)
{
	struct session_removal **at = &waiting;

	if (!r->session)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->session = NULL;
}
