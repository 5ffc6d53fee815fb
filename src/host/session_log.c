#include "host/session_log.h"

#include "base/str.h"
#include "json/json.h"
#include "json/json_write.h"

enum { TOKENS_BYTES = 1 * KIB };

static const int64_t TIME_MAX = INT64_C(1) << 52; /* beyond any date, and sums of two still fit */

/* --- writing --- */

static void begin(struct jw *w, struct buf *b, const char *op, const struct session *s)
{
	jw_init(w, b);
	jw_object(w, NULL);
	jw_puts(w, "op", op);
	jw_puts(w, "id", s->id);
}

static void end(struct jw *w)
{
	jw_close(w);
	buf_putc(w->out, '\n');
}

void session_put_create(struct buf *b, const struct session *s)
{
	struct jw w;

	begin(&w, b, "create", s);
	jw_str(&w, "type", (struct slice){ s->type, s->type_len });
	jw_int(&w, "created", s->created);
	jw_int(&w, "end", s->end);
	end(&w);
}

void session_put_extend(struct buf *b, const struct session *s)
{
	struct jw w;

	begin(&w, b, "extend", s);
	jw_int(&w, "end", s->end);
	end(&w);
}

void session_put_clean(struct buf *b, const struct session *s)
{
	struct jw w;

	begin(&w, b, "clean", s);
	jw_int(&w, "at", s->cleaned);
	end(&w);
}

void session_put_all(struct buf *b, const struct session *s)
{
	session_put_create(b, s);
	if (s->state == SESSION_CLEANED)
		session_put_clean(b, s);
}

/* --- reading --- */

enum { OP, ID, TYPE, CREATED, END, AT, MEMBERS };

struct record {
	struct json doc;
	int at[MEMBERS];
	struct slice id;
};

static bool time_of(struct record *r, int member, int64_t *ms)
{
	return json_int(&r->doc, r->at[member], ms) == 0 && *ms > -TIME_MAX && *ms < TIME_MAX;
}

static bool read_create(struct record *r, struct session_table *t)
{
	struct slice type;
	struct session *s;
	int64_t created, end;

	if (json_str(&r->doc, r->at[TYPE], &type) < 0 || type.n > SESSION_TYPE_BYTES ||
		!time_of(r, CREATED, &created) || !time_of(r, END, &end))
		return false;
	s = session_add(t, r->id, type, created, 0);
	if (!s)
		return false;
	s->end = end;
	return session_ready(s);
}

static bool read_extend(struct record *r, struct session_table *t)
{
	struct session *s = session_find(t, r->id);
	int64_t end;

	if (!s || s->state != SESSION_READY || !time_of(r, END, &end))
		return false;
	s->end = end;
	return true;
}

static bool read_clean(struct record *r, struct session_table *t)
{
	struct session *s = session_find(t, r->id);
	int64_t at;

	return s && time_of(r, AT, &at) && session_clean(s, at);
}

static bool read_line(struct session_table *t, char *line, size_t n)
{
	static const char *const names[] = { "op", "id", "type", "created", "end", "at" };
	char mem[TOKENS_BYTES];
	struct record r;
	struct buf tokens;

	buf_over(&tokens, mem, sizeof(mem));
	if (json_parse(&r.doc, line, n, &tokens) < 0 ||
		json_pick(&r.doc, 0, names, MEMBERS, r.at) < 0 ||
		json_str(&r.doc, r.at[ID], &r.id) < 0 || !session_is_id(r.id))
		return false;
	if (json_str_is(&r.doc, r.at[OP], "create"))
		return read_create(&r, t);
	if (json_str_is(&r.doc, r.at[OP], "extend"))
		return read_extend(&r, t);
	return json_str_is(&r.doc, r.at[OP], "clean") && read_clean(&r, t);
}

void session_log_init(struct session_log *l, struct session_table *t)
{
	l->table = t;
	l->n = 0;
	l->too_long = false;
	l->bad = 0;
}

static void line_part(struct session_log *l, struct slice part)
{
	l->too_long = l->too_long || part.n > sizeof(l->line) - l->n;
	if (l->too_long)
		return;
	memcpy(l->line + l->n, part.p, part.n);
	l->n += part.n;
}

static void line_end(struct session_log *l)
{
	if (l->too_long || !read_line(l->table, l->line, l->n))
		l->bad++;
	l->n = 0;
	l->too_long = false;
}

void session_log_feed(struct session_log *l, struct slice in)
{
	const char *lf;

	while (in.n > 0 && (lf = memchr(in.p, '\n', in.n))) {
		line_part(l, slice_head(in, (size_t)(lf - in.p)));
		line_end(l);
		in = slice_from(in, (size_t)(lf - in.p) + 1);
	}
	if (in.n > 0)
		line_part(l, in);
}
