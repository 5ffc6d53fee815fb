/*
 * The text of the sessions' state file: one JSON object a line, added as things happen.
 *
 *	{"op":"create","id":"...","type":"...","created":MS,"end":MS}
 *	{"op":"extend","id":"...","end":MS}
 *	{"op":"clean","id":"...","at":MS}
 *
 * Times are milliseconds since 1970. Reading it takes bytes and knows no descriptor. A line that is
 * none of these is passed over: a full disk or a power failure may have cut it. What has no newline
 * at the end was never acknowledged and does not count.
 */
#ifndef HOST_SESSION_LOG_H
#define HOST_SESSION_LOG_H

#include "base/buf.h"
#include "host/session.h"

/* Lines for the file, each with its newline. */
void session_put_create(struct buf *b, const struct session *s);
void session_put_extend(struct buf *b, const struct session *s);
void session_put_clean(struct buf *b, const struct session *s);
/* All that must be known of a session, when the file is written anew. */
void session_put_all(struct buf *b, const struct session *s);

struct session_log {
	struct session_table *table;
	char line[SESSION_LINE_MAX];
	size_t n;
	bool too_long; /* the line being read: it is passed over */
	int bad;       /* lines passed over, and sessions that there was no room for */
};

void session_log_init(struct session_log *l, struct session_table *t);
void session_log_feed(struct session_log *l, struct slice in); /* pieces of any size */

#endif
