/*
 * Removing the files of cleaned sessions, in workers.
 */
#ifndef HOST_SESSION_REMOVE_H
#define HOST_SESSION_REMOVE_H

#include "host/session.h"

/* removed: called after each try; it may drop the row. Both are borrowed for good. */
void session_remove_setup(struct session_table *t, void (*removed)(struct session *s));
/*
 * Begins, as soon as nothing runs in the session any more and a worker is free; does nothing while
 * it goes on and when it is done. An earlier try that failed is repeated.
 */
void session_remove(struct session *s);

struct session_removal {
	void (*done)(struct session_removal *r); /* from the loop, once */
	int err;                                 /* 0, or why not all of it could be removed */

	/* private */
	struct session *session;
	struct session_removal *next;
};

/* Waits for the files of a cleaned session. False: they are gone, and done() is not called. */
bool session_removal_wait(struct session_removal *r, struct session *s);
void session_removal_forget(struct session_removal *r); /* done() is not called any more */

#endif
