/* Which version the master is, for the sentence about a route it does not have. */
#include <errno.h>

#include "base/str.h"
#include "proxy/master.h"

enum { ANSWER_MAX = 4096, VERSION_SHOWN_MAX = 64 };

struct version_ask {
	struct http_call http;
	struct job *job;
	enum step (*next)(struct job *j);
	struct buf answer;
	char target[256], fields[2048], mem[ANSWER_MAX];
};

static char known[VERSION_SHOWN_MAX];
static bool asked;

struct slice version_known(void)
{
	return known[0] ? slice_of(known) : LIT("unknown");
}

static bool part(struct http_call *h, struct slice bytes)
{
	struct version_ask *v = container_of(h, struct version_ask, http);

	buf_slice(&v->answer, bytes);
	return !v->answer.failed;
}

/* Printable ASCII only: it goes into sentences. */
static void take(struct slice version)
{
	for (size_t i = 0; i < version.n; i++)
		if (version.p[i] < ' ' || version.p[i] > '~')
			return;
	if (str_c(version, known, sizeof(known)) < 0)
		known[0] = '\0';
}

static void done(struct http_call *h)
{
	struct version_ask *v = container_of(h, struct version_ask, http);
	struct slice version;
	struct json d;

	asked = true;
	if (h->failure == HTTP_CALL_OK && h->status == 200 &&
		json_parse(&d, v->answer.p, v->answer.len, &v->job->mem) == 0 &&
		json_str(&d, json_get(&d, 0, "version"), &version) == 0)
		take(version);
	job_wake(v->job);
}

static enum step learnt(struct job *j)
{
	struct master_call *c = j->state;

	return c->version->next(j);
}

static void cancel(struct job *j)
{
	struct master_call *c = j->state;

	http_call_abort(&c->version->http);
	job_wake(j);
}

static void start(struct version_ask *v)
{
	const struct route *r = route_of("version");
	struct buf target, fields;

	buf_over(&target, v->target, sizeof(v->target));
	request_put_target(&target, r, (struct slice){ 0 });
	buf_over(&fields, v->fields, sizeof(v->fields));
	request_put_fields(&fields, r, (struct slice){ 0 });
	buf_over(&v->answer, v->mem, sizeof(v->mem));
	v->http = (struct http_call){
		.method = r->method,
		.target = buf_all(&target),
		.fields = buf_all(&fields),
		.limit_ms = request_limit_ms(r, 0),
		.brief = true,
		.part = part,
		.done = done,
	};
	http_call_start(&v->http);
}

enum step version_learn(struct master_call *c, enum step (*next)(struct job *j))
{
	struct version_ask *v = asked ? NULL : buf_alloc(&c->job->mem, sizeof(*v));

	if (!v)
		return next(c->job);
	v->job = c->job;
	v->next = next;
	c->version = v;
	c->job->cancel = cancel;
	start(v);
	return job_wait(c->job, learnt);
}
