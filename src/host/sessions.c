#include "host/sessions.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/session_dir.h"
#include "host/session_log.h"

static struct session_table table;
static int64_t max_sessions;
static int64_t ahead; /* of the time of day before the monotonic clock */
static struct timer expiry, reaper;
static struct session_visit *visits;

int64_t sessions_max(void)
{
	return max_sessions;
}

int sessions_count(void)
{
	return session_count(&table);
}

int64_t sessions_first_end(void)
{
	return session_first_end(&table);
}

static void log_session(const char *msg, const struct session *s)
{
	const struct log_field fields[] = {
		{ "session", slice_of(s->id) },
		{ "type", { s->type, s->type_len } },
		{ 0 },
	};

	log_event(LOG_INFO, msg, fields);
}

/* --- time --- */

static void tell_visits(struct session *s)
{
	for (struct session_visit *v = visits; v; v = v->next)
		if (v->session == s && !v->ended) {
			v->ended = true;
			v->end(v);
		}
}

static void set_expiry(int64_t now)
{
	int64_t end = session_first_end(&table);

	if (end == INT64_MAX)
		timer_clear(&expiry);
	else
		timer_set(&expiry, end > now ? end - now : 0);
}

/* Whose end has come: from now on commands are refused, and those that run are ended. */
void sessions_expire(int64_t now)
{
	struct session *s;

	while ((s = session_expire(&table, now))) {
		log_session("session expired", s);
		tell_visits(s);
	}
	set_expiry(now);
}

static int64_t steady_now(void)
{
	int64_t step = clock_unix_ms() - (clock_ms() + ahead);

	if (step > SESSION_CLOCK_STEP_MS || step < -SESSION_CLOCK_STEP_MS) {
		session_shift(&table, step / 1000);
		ahead += step / 1000 * 1000;
	}
	return clock_ms() + ahead;
}

int64_t sessions_now(void)
{
	int64_t now = steady_now();

	if (session_first_end(&table) <= now)
		sessions_expire(now);
	return now;
}

static void expiry_due(struct timer *t)
{
	(void)t;
	sessions_expire(steady_now());
}

struct session *sessions_find(struct slice id)
{
	return session_find(&table, id);
}

/* --- changes --- */

static int add_line(void (*put)(struct buf *b, const struct session *s), const struct session *s)
{
	char mem[SESSION_LINE_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	put(&b, s);
	return b.failed ? -E2BIG : session_file_add(buf_all(&b));
}

int sessions_create(struct slice type, int64_t minutes, struct session **s)
{
	char id[SESSION_ID_LEN + 1];
	int64_t now = sessions_now();
	int r;

	if (!session_make_id(id))
		return -EAGAIN;
	*s = session_add(&table, slice_of(id), type, now, minutes);
	if (!*s)
		return -ENFILE;
	r = add_line(session_put_create, *s);
	if (r < 0)
		session_drop(*s);
	else
		log_session("session created", *s);
	set_expiry(now);
	return r;
}

int sessions_extend(struct session *s, int64_t minutes)
{
	int64_t end = s->end;
	int r;

	if (!session_extend(s, minutes))
		return -ESTALE;
	r = add_line(session_put_extend, s);
	if (r < 0)
		s->end = end;
	set_expiry(sessions_now());
	return r;
}

void sessions_extend_undo(struct session *s, int64_t end)
{
	s->end = end;
	set_expiry(sessions_now());
}

static void save_clean(struct session *s)
{
	s->unsaved = add_line(session_put_clean, s) < 0;
}

void sessions_clean(struct session *s)
{
	int64_t now = steady_now();

	if (!session_clean(s, now))
		return;
	save_clean(s);
	log_session("session cleaned", s);
	tell_visits(s);
	session_remove(s);
	set_expiry(now);
}

static void removed(struct session *s)
{
	if (s->unsaved) /* the disk was full: now there is room */
		save_clean(s);
	session_forget(&table, steady_now());
}

/* --- visits --- */

void session_enter(struct session_visit *v, struct session *s)
{
	v->session = s;
	v->ended = false;
	v->next = visits;
	visits = v;
	s->running++;
}

void session_leave(struct session_visit *v)
{
	struct session_visit **at = &visits;
	struct session *s = v->session;

	if (!s)
		return;
	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	v->session = NULL;
	s->running--;
	if (s->state == SESSION_CLEANED)
		session_remove(s);
}

/* --- the reaper --- */

void sessions_reap(int64_t now)
{
	struct session *s = NULL;

	sessions_expire(now);
	while ((s = session_next(&table, s))) {
		if (s->state == SESSION_EXPIRED)
			sessions_clean(s);
		else if (s->state == SESSION_CLEANED)
			session_remove(s);
	}
	session_forget(&table, now);
}

static void reaper_due(struct timer *t)
{
	sessions_reap(steady_now());
	timer_set(t, SESSION_REAP_MS);
}

static bool is_lost(const struct session *s)
{
	struct place p;
	bool lost = session_dir_find(s, &p) == -ENOENT;

	place_close(&p);
	return lost;
}

/* One whose directory is gone was being removed when a former run ended. */
static void clean_lost(void)
{
	struct session *s = NULL;

	while ((s = session_next(&table, s)))
		if (session_alive(s) && is_lost(s))
			sessions_clean(s);
}

void sessions_start(int64_t max_instances)
{
	max_sessions = max_instances;
	ahead = clock_unix_ms() - clock_ms();
	expiry.fire = expiry_due;
	reaper.fire = reaper_due;
	session_remove_setup(&table, removed);
	if (session_file_open(&table, steady_now()) == 0)
		clean_lost();
	sessions_now();
	set_expiry(steady_now());
	timer_set(&reaper, 0);
}
