/* Looking at new sandboxes until all run, have failed, or are late (sandbox-tools.md section 6.3).
 */
#include "bounds.h"
#include "proxy/spawn.h"

enum {
	LOOK_QUICK_MS = 200,      /* from look to look at the same sandbox ... */
	LOOK_QUICK_FOR_MS = 2000, /* ... for so long, then */
	LOOK_SLOW_MS = 500,
	LOOK_GAP_MS = 50, /* between two looks: 20 a second */
};

static enum step poll(struct job *j);

static void give_up_late(struct spawn *s)
{
	struct buf *mem = &s->call.job->mem;
	size_t at = mem->len;
	int64_t waited = loop_now() - s->began;

	buf_printf(mem, "did not start within %lld s", (long long)(waited + 500) / 1000);
	if (s->error_len)
		buf_printf(mem, "; looking at it failed: %.*s", (int)s->error_len, s->error);
	boxes_give_up(&s->boxes, master_hold(&s->call, buf_since(mem, at)), true);
}

static void note_error(struct spawn *s, struct slice why)
{
	why = slice_head(why, sizeof(s->error));
	memcpy(s->error, why.p, why.n);
	s->error_len = why.n;
}

static enum step polled(struct job *j)
{
	struct spawn *s = j->state;
	struct master_call *c = &s->call;
	struct box *x = &s->boxes.box[s->at++];
	int status = c->http.failure == HTTP_CALL_OK ? c->http.status : 0;

	if (box_look(x, c)) {
		s->error_len = 0;
	} else if (status == 401 || status == 403) {
		boxes_give_up(&s->boxes, master_hold(c, failure_sentence(c, NULL)), false);
	} else if (status == 404) {
		x->life = LIFE_FAILED;
		x->end.removed = true;
		x->reason = LIT("gone: the master does not know it any more");
		x->told[0] = '\0';
	} else {
		note_error(s, failure_sentence(c, "it is no object"));
	}
	return poll(j);
}

static enum step look(struct job *j)
{
	struct spawn *s = j->state;
	int64_t now = loop_now();
	struct request q = {
		.route = route_of("get_sandbox"),
		.id = s->boxes.box[s->at].end.id,
		.keep = master_config()->max_output,
		.most = RESULT_MAX,
	};

	q.limit_ms = request_limit_ms(q.route, 0);
	if (q.limit_ms > s->deadline - now)
		q.limit_ms = s->deadline > now ? s->deadline - now : 1;
	s->looked = now;
	master_forget(&s->call);
	return master_send(&s->call, &q, polled) == STEP_WAIT ? STEP_WAIT : spawn_give_up(j);
}

/* The next that is waited for, from here to the end of the round. */
static bool find_waiting(struct spawn *s)
{
	while (s->at < s->boxes.made && s->boxes.box[s->at].life != LIFE_WAITING)
		s->at++;
	return s->at < s->boxes.made;
}

static void next_round(struct spawn *s)
{
	int64_t quick = s->round - s->began < LOOK_QUICK_FOR_MS;

	s->round += quick ? LOOK_QUICK_MS : LOOK_SLOW_MS;
	if (s->round < loop_now())
		s->round = loop_now();
	s->at = 0;
	find_waiting(s);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static enum step poll(struct job *j)
{
	struct spawn *s = j->state;
	int64_t now = loop_now(), due;

	if (boxes_count(&s->boxes, LIFE_WAITING) == 0)
		return spawn_finish(j);
	if (now >= s->deadline) {
		give_up_late(s);
		return spawn_finish(j);
	}
	if (!find_waiting(s))
		next_round(s);
	due = later(s->round, s->looked + LOOK_GAP_MS);
	if (due >= s->deadline)
		return job_nap(j, s->deadline - now, poll);
	return job_nap(j, later(due - now, 0), look);
}

enum step spawn_look(struct job *j)
{
	struct spawn *s = j->state;
	int64_t start = arg_given(j, SPAWN_START) ? arg_num(j, SPAWN_START) * 1000
						  : master_config()->start_timeout_ms;

	s->began = loop_now();
	s->round = s->began + LOOK_QUICK_MS;
	s->deadline = s->began + start;
	return poll(j);
}
