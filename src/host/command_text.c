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
	bool drawn;   /* lines in it were redrawn */
};

/* The whole text in pieces, in order. */
struct pieces {
	struct piece all[PIECES_MAX];
	size_t n;
	char omitted[2][OMITTED_MAX], late[TIMEOUT_LINE_MAX];
};

static void add(struct pieces *p, struct slice text, unsigned cut, bool drawn)
{
	if (text.n > 0)
		p->all[p->n++] = (struct piece){ text, cut, drawn };
}

static void add_stream(struct pieces *p, struct capture *c, char *mem, bool drawn)
{
	struct slice parts[2];
	uint64_t omitted = capture_joined(c, parts);
	struct buf marker;

	add(p, parts[0], omitted > 0 ? CUT_END : 0, drawn);
	if (omitted == 0)
		return;
	buf_over(&marker, mem, OMITTED_MAX);
	command_put_omitted(&marker, omitted, c->total);
	add(p, buf_all(&marker), 0, false);
	add(p, parts[1], CUT_START, drawn);
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
		add(p, LIT("\n"), 0, false);
	buf_over(&b, p->late, sizeof(p->late));
	buf_printf(&b, "timeout after %llds", (long long)(c->limit_ms / 1000));
	add(p, buf_all(&b), 0, false);
}

static void add_all(struct pieces *p, struct command *c)
{
	add_stream(p, &c->out, p->omitted[0], false);
	if (p->n > 0)
		add(p, LIT("\n"), 0, false);
	add_stream(p, &c->err, p->omitted[1], c->erases);
	if (c->child.timed_out)
		add_late(p, c);
}

static void strip_start(struct pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->all[i].text = str_trim_start(p->all[i].text);
		if (p->all[i].text.n > 0)
			return;
	}
}

static void strip_end(struct pieces *p)
{
	for (size_t i = p->n; i-- > 0;) {
		p->all[i].text = str_trim_end(p->all[i].text);
		if (p->all[i].text.n > 0)
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

/* As a terminal would show a line: what a carriage return took back is gone. */
static struct slice as_shown(struct slice line)
{
	size_t end = line.n;
	const char *cr;

	while (end > 0 && (line.p[end - 1] == '\n' || line.p[end - 1] == '\r'))
		end--;
	cr = end > 0 ? memrchr(line.p, '\r', end) : NULL;
	return cr ? slice_from(line, (size_t)(cr + 1 - line.p)) : line;
}

static void put_drawn(struct job *j, struct piece piece)
{
	struct piece line = piece;
	const char *lf;

	while (piece.text.n > 0) {
		lf = memchr(piece.text.p, '\n', piece.text.n);
		line.text =
			slice_head(piece.text, lf ? (size_t)(lf + 1 - piece.text.p) : piece.text.n);
		piece.text = slice_from(piece.text, line.text.n);
		line.cut = piece.cut & (piece.text.n > 0 ? ~(unsigned)CUT_END : ~0U);
		line.text = as_shown(line.text);
		put(j, line);
		piece.cut &= ~(unsigned)CUT_START;
	}
}

void command_put_text(struct job *j, enum command_form form)
{
	struct command *c = j->state;
	struct pieces p = { .n = 0 };
	bool failed = command_failed(c);

	if (form == TEXT_OUTPUT && !failed) {
		add_stream(&p, &c->out, p.omitted[0], false);
	} else {
		add_all(&p, c);
		strip_end(&p);
		if (form != TEXT_LINES || failed)
			strip_start(&p);
	}
	for (size_t i = 0; i < p.n; i++)
		(p.all[i].drawn ? put_drawn : put)(j, p.all[i]);
}

enum step command_text(struct job *j, enum command_form form)
{
	tool_begin(j);
	command_put_text(j, form);
	return tool_end(j, command_failed(j->state));
}
