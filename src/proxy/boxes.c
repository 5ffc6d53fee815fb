#include "proxy/boxes.h"

#include "base/str.h"
#include "bounds.h"

/* --- reading --- */

static void note_told(struct box *x, struct slice text)
{
	struct buf b;

	buf_over(&b, x->told, sizeof(x->told) - 1);
	buf_slice(&b, slice_head(text, b.max));
	x->told[b.len] = '\0';
}

static struct slice member_raw(const struct json *d, int object, struct slice names)
{
	int at = -1;

	while (names.n && at < 0)
		at = reply_member(d, object, str_word(&names));
	return json_raw(d, at);
}

/* State and reason; the object itself is the caller's. */
static void box_read(struct box *x, const struct json *d, int object, struct buf *mem)
{
	struct slice word, reason = reply_reason(d, object, mem);

	x->life = reply_life(d, object, mem, &word);
	note_told(x, reason.n ? reason : word);
}

static const char *take_one(struct boxes *b, const struct json *d, int object, struct buf *mem)
{
	int id = json_get(d, object, "id");
	struct box *x = &b->box[b->made];

	if (json_type(d, id) != JSON_STRING || b->made == b->wanted)
		return json_type(d, id) != JSON_STRING ? "a sandbox has no id" : NULL;
	*x = (struct box){ .object = json_raw(d, object) };
	x->end.id = reply_text(mem, json_raw(d, id));
	if (!x->end.id.n || x->end.id.n > SANDBOX_ID_MAX)
		return "a sandbox has an unusable id";
	x->token = member_raw(d, object, names_of(NAMES_TOKEN));
	x->token_inside = json_get(d, object, "token") >= 0;
	box_read(x, d, object, mem);
	b->made++;
	return NULL;
}

/* The array of new sandboxes; -1: the reply is the one sandbox itself, or none. */
static int array_of(const struct json *d)
{
	int found = -1;

	if (json_type(d, 0) == JSON_ARRAY)
		return 0;
	if (json_get(d, 0, "id") >= 0)
		return -1;
	for (int key = json_first(d, 0); key >= 0; key = json_next(d, 0, key))
		if (json_type(d, json_value(key)) == JSON_ARRAY)
			found = found < 0 ? json_value(key) : 0;
	return found > 0 ? found : -1;
}

static const char *take_all(struct boxes *b, const struct json *d, struct buf *mem)
{
	int array = array_of(d);
	const char *why = NULL;

	if (array < 0)
		return json_get(d, 0, "id") < 0 ? "it tells of no sandbox" : take_one(b, d, 0, mem);
	for (int at = json_first(d, array); at >= 0 && !why; at = json_next(d, array, at))
		why = take_one(b, d, at, mem);
	return why;
}

const char *boxes_take(struct boxes *b, struct master_call *c)
{
	struct buf *mem = &c->job->mem;
	struct slice text = master_hold(c, buf_all(&c->text));
	int before = b->made;
	const char *why;
	struct json d;

	if (!text.n)
		return "it is empty";
	if (json_parse(&d, (char *)text.p, text.n, mem) < 0)
		return "it has too many values";
	why = take_all(b, &d, mem);
	master_keep(c);
	return why || b->made > before ? why : "it tells of no sandbox";
}

/* What does not tell the id is no better than what told of the sandbox when it was made. */
bool box_look(struct box *x, struct master_call *c)
{
	struct json d;

	if (!reply_object(c).n || json_parse(&d, c->text.p, c->text.len, &c->job->mem) < 0)
		return false;
	box_read(x, &d, 0, &c->job->mem);
	if (x->life == LIFE_STARTED && json_get(&d, 0, "id") >= 0) {
		x->token_inside = json_get(&d, 0, "token") >= 0;
		x->object = master_hold(c, buf_all(&c->text));
	}
	return true;
}

void boxes_give_up(struct boxes *b, struct slice reason, bool and_told)
{
	for (int i = 0; i < b->made; i++)
		if (b->box[i].life == LIFE_WAITING) {
			b->box[i].life = LIFE_FAILED;
			b->box[i].reason = reason;
			if (!and_told)
				b->box[i].told[0] = '\0';
		}
}

/* --- answering --- */

int boxes_count(const struct boxes *b, enum life life)
{
	int n = 0;

	for (int i = 0; i < b->made; i++)
		n += b->box[i].life == life;
	return n;
}

bool boxes_complete(const struct boxes *b)
{
	return boxes_count(b, LIFE_STARTED) >= b->wanted;
}

/* Without what the master tells of each, the tokens of a thousand sandboxes still fit. */
static bool too_large(const struct boxes *b)
{
	size_t sum = 0;

	for (int i = 0; i < b->made; i++)
		sum += b->box[i].object.n + b->box[i].token.n + 16;
	return sum > RESULT_MAX;
}

static void put_brief(struct jw *w, const struct box *x)
{
	jw_object(w, NULL);
	jw_str(w, "id", x->end.id);
	if (x->token.n)
		jw_raw(w, "token", x->token);
	jw_close(w);
}

/* As the master tells of it, and its token, which it tells only once. */
static void put_box(struct jw *w, const struct box *x)
{
	if (!x->token.n || x->token_inside) {
		jw_raw(w, NULL, x->object);
		return;
	}
	jw_raw(w, NULL, slice_head(x->object, x->object.n - 1));
	buf_puts(w->out, ",\"token\":");
	buf_slice(w->out, x->token);
	buf_putc(w->out, '}');
}

static void put_started(struct jw *w, const char *key, const struct boxes *b)
{
	bool brief = too_large(b);

	jw_array(w, key);
	for (int i = 0; i < b->made; i++)
		if (b->box[i].life == LIFE_STARTED) {
			if (brief || !b->box[i].object.n) /* no memory was left for it */
				put_brief(w, &b->box[i]);
			else
				put_box(w, &b->box[i]);
		}
	jw_close(w);
}

static struct slice reason_of(struct master_call *c, const struct box *x)
{
	struct slice told = failure_masked(c, slice_of(x->told));
	struct buf *mem = &c->job->mem;
	size_t at = mem->len;

	if (!x->reason.n || !told.n)
		return x->reason.n ? x->reason : told;
	buf_printf(mem, "%.*s; the master says: %.*s", SLICE(x->reason), SLICE(told));
	return buf_since(mem, at);
}

static void put_failed(struct jw *w, const struct boxes *b, struct master_call *c)
{
	jw_array(w, "failed");
	for (int i = 0; i < b->made; i++) {
		const struct box *x = &b->box[i];

		if (x->life != LIFE_FAILED)
			continue;
		jw_object(w, NULL);
		jw_str(w, "id", x->end.id);
		jw_str(w, "reason", reason_of(c, x));
		jw_bool(w, "removed", x->end.removed);
		jw_close(w);
	}
	if (b->error.n) {
		jw_object(w, NULL);
		jw_null(w, "id");
		jw_str(w, "reason", b->error);
		jw_bool(w, "removed", false);
		jw_close(w);
	}
	jw_close(w);
}

enum step boxes_answer(struct boxes *b, struct master_call *c)
{
	struct jw w;

	buf_reset(&c->text, true);
	jw_init(&w, &c->text);
	put_started(&w, NULL, b);
	return tool_json(c->job, buf_all(&c->text));
}

enum step boxes_answer_failure(struct boxes *b, struct master_call *c)
{
	struct job *j = c->job;
	struct jw w;

	buf_reset(&c->text, true);
	jw_init(&w, &c->text);
	jw_object(&w, NULL);
	put_started(&w, "started", b);
	put_failed(&w, b, c);
	jw_close(&w);
	tool_begin_failure(j);
	jw_text_printf(&j->w, "%d of %d sandboxes did not start\n",
		b->wanted - boxes_count(b, LIFE_STARTED), b->wanted);
	jw_text(&j->w, buf_all(&c->text));
	return tool_end(j, true);
}
