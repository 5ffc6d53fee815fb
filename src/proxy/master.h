/*
 * A REST call to the master on behalf of a job.
 *
 *	c = master_new(j, sizeof(*state));      the job's state, which begins with a struct
 *master_call return master_send(c, &request, next);  parks the job; next runs when the call is over
 *
 * One call at a time. master_forget goes between two of them: the request and the reply of the
 * first are gone then, what was held stays. Everything dies with the job.
 */
#ifndef PROXY_MASTER_H
#define PROXY_MASTER_H

#include "http/client.h"
#include "mcp/tool.h"
#include "proxy/routes.h"
#include "proxy/shrink.h"

struct master_config {
	struct slice token;      /* the API token, borrowed for good; empty: none */
	int64_t http_timeout_ms; /* of ordinary calls */
	int64_t start_timeout_ms;
	size_t max_output; /* bytes kept of a string in a reply */
};

void master_setup(const struct master_config *c);
const struct master_config *master_config(void);

struct request {
	const struct route *route;
	struct slice id; /* for {id} or {tag} */
	struct slice
		token;     /* the sandbox's; sent when the route is ROUTE_INSIDE and it is not empty
			    */
	struct slice body; /* JSON; p NULL: none */
	int64_t limit_ms;
	bool looks;  /* changes nothing, whatever the row says */
	size_t keep; /* bytes of a string in the reply */
	size_t most; /* bytes of the reply, shrunk */
};

enum { REPLY_HEAD_MAX = 256 }; /* first bytes of a reply, for the sentence about one that is none */

struct version_ask;

struct master_call {
	struct http_call http; /* what came back */
	struct job *job;
	struct request request;
	int64_t began, took_ms;
	bool ok;         /* a 2xx reply, either empty or JSON */
	struct buf text; /* when ok the JSON, else the body of the error */
	struct shrink shrink;

	/* What a progress message says, set by the tool; NULL: that we wait. */
	void (*put_progress)(struct job *j, struct buf *b);

	/* private */
	int fault; /* of a 2xx reply: 0, or -errno of shrink */
	char head[REPLY_HEAD_MAX];
	size_t head_len;
	size_t mark;      /* of the job's memory: what lies above belongs to the present call */
	const char *what; /* of master_fail, while it asks for the version */
	struct timer tick;
	struct version_ask *version;
};

/*
 * size bytes, zeroed. Sets the job's cleanup hook to master_cleanup. NULL: the tool's call has
 * failed, its answer says so.
 */
void *master_new(struct job *j, size_t size);
void master_cleanup(struct job *j); /* for a tool's own cleanup hook */
enum step master_send(
	struct master_call *c, const struct request *q, enum step (*next)(struct job *j));
/* All of a tool that is one request: arguments checked, state of size bytes made, request sent. */
enum step master_forward(struct job *j, size_t size, enum step (*next)(struct job *j));
/* A step: the reply's object is the answer. */
enum step object_answered(struct job *j);
/* For a tool's own cancel hook: the call is over, nobody is told. */
void master_abort(struct master_call *c);
void master_forget(struct master_call *c);
/* A copy of text in the job's memory, which the calls that follow leave alone; it takes the place
 * of what master_forget would drop. Empty: no memory. */
struct slice master_hold(struct master_call *c, struct slice text);
/* All that is in the job's memory now stays. */
void master_keep(struct master_call *c);

/* --- the request (request.c) --- */

/* Are the arguments that all tools share such as the master may get? False: the answer says no. */
bool request_args_ok(struct job *j);
/* What the tool's row and arguments make, with a body unless it is spawn_sandboxes. */
void request_make(struct job *j, struct request *q);
/* The milliseconds that a row has; timeout: seconds that the caller has asked for, 0: none. */
int64_t request_limit_ms(const struct route *r, int64_t timeout);
void request_put_target(struct buf *b, const struct route *r, struct slice id);
/* The lines of the head that carry tokens. */
void request_put_fields(struct buf *b, const struct route *r, struct slice token);
/* Argument which of the call as a member of the body: what was given, else its default. */
void request_put_arg(struct jw *w, const struct job *j, int which, struct slice name);
void request_put_number(struct jw *w, struct slice name, int64_t v);
/* Position of the tool's argument of that name, -1: it has none. */
int request_arg(const struct job *j, struct slice name);

/* --- the reply (reply.c) --- */

/* Bytes of text that a tool's result may have. */
size_t reply_max(bool list);
/* When c->ok: the array of a list, the text of an object; empty: there is none. */
struct slice reply_list(const struct master_call *c);
struct slice reply_object(const struct master_call *c);
static inline bool reply_empty(const struct master_call *c)
{
	return c->ok && c->http.got == 0;
}
/* The value of the member called name, -1: none. */
int reply_member(const struct json *d, int object, struct slice name);
/* The text of a JSON string given with its quotes; in mem when it has escapes. */
struct slice reply_text(struct buf *mem, struct slice raw);

enum life { LIFE_STARTED, LIFE_WAITING, LIFE_FAILED };
/* *word: its state as the master calls it, empty: it has none, which counts as started. */
enum life reply_life(const struct json *d, int object, struct buf *mem, struct slice *word);
/* Why it has failed; empty: the master does not say. */
struct slice reply_reason(const struct json *d, int object, struct buf *mem);

/* --- the failure (failure.c) --- */

/*
 * Why the call is of no use, in one sentence without secrets (sandbox-tools.md section 5.2). what:
 * the reply is JSON, but not what it should be ("it is no list"); else NULL. In the job's memory.
 */
struct slice failure_sentence(struct master_call *c, const char *what);
/* The same as the answer of the tool; may ask the master for its version first. */
enum step master_fail(struct job *j, const char *what);
/* text on one line, without secrets. In the job's memory. */
struct slice failure_masked(struct master_call *c, struct slice text);
/* What the body of an error says, as it came; empty: nothing. In the job's memory. */
struct slice failure_text(struct master_call *c);
/* Is it a refusal that no handler of the master has written? */
bool failure_no_route(struct master_call *c);

/* --- the master's version (version.c) --- */

/* Asks once a process, then goes on with next. */
enum step version_learn(struct master_call *c, enum step (*next)(struct job *j));
struct slice version_known(void); /* "unknown" until then, and when the master does not tell */

#endif
