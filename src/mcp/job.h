/*
 * A job: one message (or batch) from its arrival to its reply. The table of jobs is fixed.
 *
 * Life: job_new -> the transport fills text -> rpc_start -> (steps) -> sink->reply -> the transport
 * sends out and calls job_free, the one place where a slot is given back. A job that waits has
 * armed exactly one thing, whose completion calls job_wake; resumes run from the loop, never
 * nested. Everything borrowed from text, mem or out is good until job_free.
 */
#ifndef MCP_JOB_H
#define MCP_JOB_H

#include "json/json.h"
#include "json/json_write.h"
#include "bounds.h"
#include "loop/loop.h"
#include "mcp/eras.h"

struct job;
struct tool;

enum step { STEP_DONE, STEP_WAIT };

enum { TOOL_ARGS_MAX = 8 };

union arg_value {
	struct slice str; /* ARG_STR: in the job's text; ARG_STRS: JSON in its mem */
	int64_t num;      /* ARG_INT; ARG_SECONDS in milliseconds */
	bool yes;         /* ARG_BOOL */
};

/* Where answers go. All are called only while the job lives. */
struct sink {
	/* One complete notification (progress). The slice is good during the call; the sink may
	 * drop it when it is full. */
	void (*event)(struct job *j, struct slice message);
	/*
	 * job->out holds the answer, one message a line without the last newline, or nothing when
	 * none is due. The sink calls job_free when it is done with it.
	 */
	void (*reply)(struct job *j);
	/* A legacy client has agreed on a revision with `initialize`; NULL where nothing is
	 * remembered. */
	void (*agreed)(struct job *j, const struct era *era);
	/*
	 * HTTP repeats parts of a message in its head. Each gives false after answering with
	 * rpc_error; NULL on stdio. version: what _meta of a modern message names; method: once the
	 * version is known to be served, and for legacy messages, of which notifications get no
	 * answer.
	 */
	bool (*check_version)(struct job *j, struct slice version);
	bool (*check_method)(struct job *j, struct slice method);
	/* Who asked, for the log; NULL: the one who started us. */
	void (*put_client)(const struct job *j, struct buf *b);
	/* notifications/cancelled names a request of the same peer; false: ids of several clients
	 * may collide. */
	bool cancel_by_id;
};

struct job {
	const struct sink *sink;
	void *peer;                /* the sink's own; the same for all jobs of one connection */
	struct job *sink_next;     /* for the sink's queue */
	struct buf text, mem, out; /* message; tokens and state; reply */
	struct json doc;
	struct jw w;   /* over out */
	bool batch_ok; /* set by the transport: a JSON-RPC array is served */
	bool modern;   /* set by the transport: its own head says the message is modern */

	/* The message being answered (of a batch: one after the other). */
	int batch_at;       /* the batch's element now served, -1: no batch */
	int batch_left;     /* elements after that one */
	uint32_t cancelled; /* of those, bit i: the one with i after it */
	struct slice id;    /* raw JSON text; empty: unknown or a notification */
	int id_token;
	struct slice progress_token; /* raw JSON text; empty: no progress wanted */
	int64_t progress_last;       /* loop_now of the last progress message, 0: none yet */
	const struct era
		*era; /* set by the transport for a legacy message, by mcp/rpc for a modern one */
	int params, meta; /* tokens, or -1 */
	size_t mark;      /* where this message's answer starts in out */
	int error;        /* JSON-RPC code of the answer, 0: a result or nothing */
	bool malformed; /* with -32602: the message itself lacks something, not what it asks for */
	bool failed;    /* isError of a tool result */
	size_t text_from,
		text_to; /* the escaped first text block within out, for structuredContent */

	const struct tool *tool;
	union arg_value arg[TOOL_ARGS_MAX];
	int arg_token[TOOL_ARGS_MAX]; /* value tokens, -1: not given */
	uint32_t given;               /* bit i: argument i was given and is not null */

	enum step (*resume)(struct job *j);
	void (*cancel)(struct job *j);  /* once: ends what the job waits for, which then wakes it as
					   always; NULL: a nap */
	void (*cleanup)(struct job *j); /* releases what the state holds (descriptors, captures);
					   once, after the call */
	/*
	 * When the message is cancelled or the server ends: what is to be done all the same, after
	 * the cancel hook. A step, called once, which may wait once; nobody hears its result.
	 */
	enum step (*undo)(struct job *j);
	void (*close)(struct job *j);  /* finishes the result begun, set by the method */
	void (*finish)(struct job *j); /* the message is answered; set by mcp/rpc */
	void *state;
	bool used, spare;
	bool spawns;     /* counted by job_may_spawn */
	bool waiting;    /* parked by job_wait or job_nap */
	bool muted;      /* this message's answer is not wanted any more */
	bool gone;       /* nobody is there for any answer of this job */
	bool stopped;    /* the server ends: the answer says so */
	int64_t started; /* loop_now when this message's turn came */
	struct timer nap;
	struct task wake;
};

/* Reserves the table; output: bytes of text an answer may hold per stream, repetitions counted. 0
 * or -ENOMEM. */
int jobs_init(size_t output) __attribute__((warn_unused_result));

/* A free slot, or NULL when only the spare is left. */
struct job *job_new(const struct sink *sink, void *peer);
/* The spare slot, or NULL while it is in use. */
struct job *job_new_spare(const struct sink *sink, void *peer);
void job_free(struct job *j);

/* size zeroed bytes that live as long as the job; NULL when scratch is used up (then fail the
 * call). Also sets j->state. */
void *job_state(struct job *j, size_t size);

/*
 * May it start a child? JOBS_KEPT slots are never taken by such jobs; from a yes on it counts as
 * one.
 */
bool job_may_spawn(struct job *j);

/* Parks the job; resume runs after job_wake. */
enum step job_wait(struct job *j, enum step (*resume)(struct job *j));
/* Parks it for ms; 0: one turn of the loop, so that others get theirs. */
enum step job_nap(struct job *j, int64_t ms, enum step (*resume)(struct job *j));
void job_wake(struct job *j);
/* Ends what the job waits for; it then goes on as always. */
void job_interrupt(struct job *j);
/* The message's answer is not wanted: it is muted, its work ended; the job goes on when the work
 * has reported. */
void job_cancel(struct job *j);
/* The peer is gone: as job_cancel, for all messages of the job. */
void job_abandon(struct job *j);
/* The server ends: the work is ended, the answer is an error that says so. */
void job_stop(struct job *j);
void job_stop_all(void);
/* Runs a step's result: parks the job or finishes its message. For whoever calls a step outside of
 * job_wake. */
void job_stepped(struct job *j, enum step s);

/* Every used job once. */
void job_each(void (*fn)(struct job *j, void *ctx), void *ctx);
int job_count(void);

#endif
