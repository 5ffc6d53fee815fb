/*
 * The sessions of this server: their table, its file, their clock, and the directories of each,
 *
 *	<root>/sessions/<id>/context    task.json, env.json
 *	<root>/sessions/<id>/workspace  where its commands start
 *	<root>/sessions/<id>/outputs
 *
 * What runs in a session is a visit. When the session ends each visit is told, and once the last
 * one has left the files are removed by a worker.
 */
#ifndef HOST_SESSIONS_H
#define HOST_SESSIONS_H

#include "host/session.h"
#include "host/session_file.h"
#include "host/session_remove.h"

/* Reads what a former run has left and starts the reaper. Complaints go to the log. */
void sessions_start(int64_t max_instances);
int64_t sessions_max(void);
int sessions_count(void);         /* creating, ready or active */
int64_t sessions_first_end(void); /* of those, INT64_MAX when there are none */

/*
 * The time, for everything about sessions: that of day, but steady, so that setting the clock
 * neither ends a session nor keeps one. What is due by now happens first.
 */
int64_t sessions_now(void);
/* What the timers do, for a time of day in ms: whose end has come by then expires, ... */
void sessions_expire(int64_t now);
/* ... and every SESSION_REAP_MS what has expired is cleaned, and what was cleaned a day ago goes.
 */
void sessions_reap(int64_t now);
struct session *sessions_find(struct slice id); /* NULL: no such row */

/* --- changes; 0 or -errno of the state file, which is safe once session_file_wait is over --- */

/*
 * A session in CREATING, without directories. -EAGAIN: the kernel's random pool is not ready yet.
 * -ENFILE: all rows are taken.
 */
int sessions_create(struct slice type, int64_t minutes, struct session **s)
	__attribute__((warn_unused_result));
/* minutes more for one that is READY. After an error its end is as before. */
int sessions_extend(struct session *s, int64_t minutes) __attribute__((warn_unused_result));
/* The same, once it turns out that it could not be made safe. */
void sessions_extend_undo(struct session *s, int64_t end);
/* CLEANED from now on. What the file does not take now it is told again when the files are gone. */
void sessions_clean(struct session *s);

/* --- visits --- */

struct session_visit {
	struct session *session;              /* NULL: not in one */
	void (*end)(struct session_visit *v); /* the session has ended: so must what runs in it */
	bool ended;                           /* end() was called */

	/* private */
	struct session_visit *next;
};

/* The session is READY or CREATING. */
void session_enter(struct session_visit *v, struct session *s);
void session_leave(struct session_visit *v); /* does nothing where it is in none */

#endif
