#include "host/command_text.h"

#include "base/str.h"
#include "base/url_secret.h"

enum {
	PIECES_MAX = 9, /* of each stream head, marker, tail; a newline between, one and a line
			   behind */
	TIMEOUT_LINE_MAX = 48,
};

struct piece {
	struct slice text;
	unsigned cut; /* of url_secret.h */
};

/* The whole text in pieces, in order. */
struct pieces {
	struct piece all[PIECES_MAX];
	size_t n;
	char omitted[2][OMITTED_MAX], late[TIMEOUT_LINE_MAX];
};

static void add(struct pieces *p, struct slice text, unsigned cut)
{
	if (text.n > 0)
		p->all[p->n++] = (struct piece){ text, cut };
}

static void add_stream(struct pieces *p, struct capture *c, char *mem)
{
	struct slice parts[2];
	uint64_t omitted = capture_joined(c, parts);
	struct buf marker;

	add(p, parts[0], omitted > 0 ? CUT_END : 0);
	if (omitted == 0)
		return;
	buf_over(&marker, mem, OMITTED_MAX);
	command_put_omitted(&marker, omitted, c->total);
	add(p, buf_all(&marker), 0);
	add(p, parts[1], CUT_START);
}

static bool ends_line(const struct pieces *p)
{
	struct slice last = p->n > 0 ? p->all[p->n - 1].text : LIT("\n");

	return last.p[last.n - 1] == '\n';
}

static void add_late(struct pieces *p, const struct command *c)
{
	struct buf b;

	if (!ends_line(p))
		add(p, LIT("\n"), 0);
	buf_over(&b, p->late, sizeof(p->late));
	buf_printf(&b, "timeout after %llds", (long long)(c->limit_ms / 1000));
	add(p, buf_all(&b), 0);
}

static void add_all(struct pieces *p, struct command *c)
{
	add_stream(p, &c->out, p->omitted[0]);
	if (p->n > 0)
		add(p, LIT("\n"), 0);
	add_stream(p, &c->err, p->omitted[1]);
	if (c->child.timed_out)
		add_late(p, c);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void strip_start(struct pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct slice *s = &p->all[i].text;

		while (s->n > 0 && blank(s->p[0]))
			*s = slice_from(*s, 1);
		if (s->n > 0)
			return;
	}
}

static void strip_end(struct pieces *p)
{
	for (size_t i = p->n; i-- > 0;) {
		struct slice *s = &p->all[i].text;

		while (s->n > 0 && blank(s->p[s->n - 1]))
			s->n--;
		if (s->n > 0)
			return;
	}
}

static void put(struct job *j, struct piece piece)
{
	bool masked;

	while (piece.text.n > 0) {
		jw_text(&j->w, url_shown(&piece.text, &piece.cut, &masked));
		if (masked)
			jw_text(&j->w, LIT(URL_MASK));
	}
}

enum step command_text(struct job *j, enum command_form form)
{
	struct command *c = j->state;
	struct pieces p = { .n = 0 };
	bool failed = command_failed(c);

	if (form == TEXT_OUTPUT && !failed) {
		add_stream(&p, &c->out, p.omitted[0]);
	} else {
		add_all(&p, c);
		strip_end(&p);
		if (form != TEXT_LINES || failed)
			strip_start(&p);
	}
	tool_begin(j);
	for (size_t i = 0; i < p.n; i++)
		put(j, p.all[i]);
	return tool_end(j, failed);
}
