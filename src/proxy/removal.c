#include "proxy/removal.h"

#include "proxy/master.h"

static void lane_next(struct lane *l);

/* --- the end --- */

static bool idle(const struct removal *r)
{
	for (int i = 0; i < REMOVAL_LANES; i++)
		if (r->lanes[i].doomed)
			return false;
	return true;
}

static void lanes_abort(struct removal *r)
{
	for (int i = 0; i < REMOVAL_LANES; i++) {
		http_call_abort(&r->lanes[i].http);
		r->lanes[i].doomed = NULL;
	}
}

void removal_abort(struct removal *r)
{
	lanes_abort(r);
	timer_clear(&r->limit);
}

static void time_over(struct timer *t)
{
	struct removal *r = container_of(t, struct removal, limit);

	lanes_abort(r);
	r->done(r);
}

static void check_end(struct removal *r)
{
	if (!idle(r))
		return;
	timer_clear(&r->limit);
	r->done(r);
}

/* --- one after the other --- */

static void lane_done(struct http_call *h)
{
	struct lane *l = container_of(h, struct lane, http);

	l->doomed->removed = h->failure == HTTP_CALL_OK &&
			     ((h->status >= 200 && h->status < 300) || h->status == 404);
	lane_next(l);
	check_end(l->removal);
}

static void lane_next(struct lane *l)
{
	const struct route *r = route_of("kill_sandbox");
	struct buf target;

	l->doomed = l->removal->next(l->removal);
	if (!l->doomed)
		return;
	buf_over(&target, l->target, sizeof(l->target));
	request_put_target(&target, r, l->doomed->id);
	l->http = (struct http_call){
		.method = r->method,
		.target = buf_all(&target),
		.fields = { l->removal->fields, l->removal->fields_len },
		.limit_ms = request_limit_ms(r, 0),
		.brief = true,
		.done = lane_done,
	};
	http_call_start(&l->http);
}

void removal_start(struct removal *r, int64_t limit_ms)
{
	struct buf fields;

	buf_over(&fields, r->fields, sizeof(r->fields));
	request_put_fields(&fields, route_of("kill_sandbox"), (struct slice){ 0 });
	r->fields_len = fields.len;
	r->limit.fire = time_over;
	timer_set(&r->limit, limit_ms);
	for (int i = 0; i < REMOVAL_LANES; i++) {
		r->lanes[i].removal = r;
		lane_next(&r->lanes[i]);
	}
	if (idle(r)) /* there was nothing to do */
		timer_set(&r->limit, 0);
}
