/*
 * Sessions: what there is of them and what may become of each. No descriptor, no clock: whoever
 * asks says what time it is, in milliseconds since 1970.
 *
 *	CREATING -> READY -> EXPIRED -> CLEANED      (from each also straight to CLEANED)
 *
 * CLEANED is final: its files are removed once nothing runs in it any more, its row is kept for a
 * day, so that its status can be asked for. "active" is no state of its own but READY with
 * something running (fault 52).
 */
#ifndef HOST_SESSION_H
#define HOST_SESSION_H

#include <stdint.h>

#include "base/slice.h"
#include "bounds.h"

enum {
	SESSION_ID_LEN = 36,
	SESSION_TTL_MAX = 120, /* minutes, extensions included */
};

enum session_state {
	SESSION_NONE, /* the row is free */
	SESSION_CREATING,
	SESSION_READY,
	SESSION_EXPIRED,
	SESSION_CLEANED,
};

enum session_files {
	FILES_THERE, /* or perhaps not: a former run may have removed them */
	FILES_DUE,   /* to be removed when nothing runs there any more */
	FILES_GOING, /* being removed */
	FILES_STUCK, /* it could not, and there will be another try */
	FILES_GONE,
};

struct session {
	char id[SESSION_ID_LEN + 1];
	char type[SESSION_TYPE_BYTES];
	unsigned char type_len;
	unsigned char state;
	unsigned char files; /* those of a cleaned one */
	bool told;           /* that it has expired; from then on it is as if it were not there */
	bool ran;            /* commands, in this run of the server */
	bool stuck;          /* that its files cannot be removed is in the log */
	bool unsaved;        /* that it was cleaned: the state file could not take it yet */
	unsigned running;
	int64_t created; /* a whole second, as it is shown */
	int64_t end;
	int64_t cleaned; /* when */
};

struct session_table {
	struct session row[SESSIONS_MAX];
	int top; /* rows from here on were never used */
};

/* What all commands of a session have in their tags, as struct child's kin: the start of its id. */
static inline const char *session_kin(const struct session *s)
{
	return s->id;
}

/* A random UUID of version 4. False: the kernel's random pool is not ready yet. */
bool session_make_id(char id[SESSION_ID_LEN + 1]) __attribute__((warn_unused_result));
/* Is it the text of an id, and so a name that leads nowhere else? */
bool session_is_id(struct slice s);

/*
 * A row in CREATING; id is one, type has at most SESSION_TYPE_BYTES. Where no row is free the one
 * cleaned longest ago gives way. NULL: the id is taken, or all rows are needed.
 */
struct session *session_add(
	struct session_table *t, struct slice id, struct slice type, int64_t now, int64_t minutes);
/* Frees a row; nothing runs in it. */
void session_drop(struct session *s);

/* NULL: no such row, in whatever state. */
struct session *session_find(struct session_table *t, struct slice id);
/* One row after the other: from NULL to NULL. */
struct session *session_next(struct session_table *t, struct session *after);
/* How many are creating, ready or active: what MAX_INSTANCES bounds. */
int session_count(const struct session_table *t);
/* The earliest end of those, INT64_MAX when there are none. */
int64_t session_first_end(const struct session_table *t);

/* creating, ready, active, expired or cleaned */
const char *session_status(const struct session *s);
static inline bool session_alive(const struct session *s)
{
	return s->state == SESSION_CREATING || s->state == SESSION_READY;
}

/* CREATING -> READY; false when it has ended meanwhile. */
bool session_ready(struct session *s);
/* READY, and its end is put off, never beyond created + SESSION_TTL_MAX; false: not READY. */
bool session_extend(struct session *s, int64_t minutes);
/* -> EXPIRED of one whose end has come. NULL: no further one. */
struct session *session_expire(struct session_table *t, int64_t now);
/* -> CLEANED; false when it is that already. */
bool session_clean(struct session *s, int64_t now);
/* Drops what was cleaned a day ago. */
void session_forget(struct session_table *t, int64_t now);

/* Minutes to its end, halves to even; 0 when that has come in any way. */
int64_t session_minutes_left(const struct session *s, int64_t now);

/*
 * After reading it back: it lives no longer than it may, and one that seems to come from the future
 * (the machine does not know the time yet) begins now.
 */
void session_settle(struct session *s, int64_t now);
/* The clock was set by so many seconds: what was a minute ago still is. */
void session_shift(struct session_table *t, int64_t seconds);

#endif
