/*
 * SANDSTORM_TRACE: every exchange with the master in a file, as a person reads it, without secrets.
 * Nothing here costs more than a look at one variable while no file is open.
 */
#ifndef HTTP_TRACE_H
#define HTTP_TRACE_H

#include <stdint.h>

#include "base/buf.h"
#include "http/mask.h"

/*
 * Opens the file for all that follows; it is made with 0600, one that is there becomes that and is
 * written behind its end. 0 or -errno; -ELOOP: a symbolic link, -EINVAL: no regular file.
 */
int http_trace_open(const char *path) __attribute__((warn_unused_result));

/*
 * Names between blanks of members in replies whose strings are secret, besides all that have
 * "token" in their names. Borrowed for good.
 */
void http_trace_hide(struct slice members);

/* One exchange; zeroed when there is none. */
struct trace {
	unsigned long number;
	int64_t began;
	struct mask mask;
	struct buf head, body; /* of the reply; the body up to TRACE_BODY_MAX */
	uint64_t got;
};

/* fields: those of the head that hold its secrets; borrowed until trace_end. */
void trace_request(struct trace *t, struct slice head, struct slice fields, struct slice body);
void trace_head(struct trace *t, struct slice head); /* of the reply, or what came of it */
void trace_part(struct trace *t, struct slice part); /* of its body */
/*
 * The exchange is over; failure: the sentence about it, or NULL. Between two of them this does
 * nothing.
 */
void trace_end(struct trace *t, const char *failure);
/* A request that never left. */
void trace_unsent(const char *method, struct slice target, const char *failure);

#endif
