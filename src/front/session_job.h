/*
 * A request of the sessions API: a job whose answer is a plain JSON body (decision 59). What has
 * begun for a client that goes away is ended, unless the call says that it goes on.
 */
#ifndef FRONT_SESSION_JOB_H
#define FRONT_SESSION_JOB_H

#include "host/sessions.h"
#include "http/server.h"
#include "mcp/job.h"

struct session_call {
	struct slice id; /* of the path; in the job's memory */
	bool bad_json;   /* there was a body, and it is no JSON; else job->doc, n 0: no body */
	bool goes_on;    /* set by the call: also without the client */
	int64_t retry_s; /* set by the call: Retry-After, 0: none */

	/* private */
	struct http_conn *conn; /* NULL once the client is gone */
	const char *name;       /* of the call, for the log */
	struct slice fields;
	unsigned char client[16];
	int status; /* 0: not answered yet */
};

static inline struct session_call *session_call(const struct job *j)
{
	return j->peer;
}

/* Makes the job and runs it. name: for the log. */
void session_job_run(
	struct http_request *r, const char *name, struct slice id, enum step (*run)(struct job *j));

/* The answer: an object begun in job->w, to be filled and ended by session_reply_end. */
void session_reply(struct job *j, int status);
enum step session_reply_end(struct job *j);
/* {"error": text} */
enum step session_fail(struct job *j, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* 507 where there is no room, else 500: "text: why". */
enum step session_fail_errno(struct job *j, const char *text, int err);

#endif
