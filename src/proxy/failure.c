/*
 * Why a call was of no use, told so that the reader can do something about it. Every sentence
 * passes through the mask: a master may echo what it was sent.
 */
#include <errno.h>

#include "base/secret.h"
#include "base/str.h"
#include "bounds.h"
#include "http/mask.h"
#include "proxy/master.h"

enum {
	MESSAGE_MAX = 1 * KIB,  /* of what the master says */
	QUOTED_MAX = 80,        /* of a reply that is none */
	SENTENCE_MAX = 8 * KIB, /* all together, a path of escapes among it */
};

/* --- secrets and controls --- */

static void mask_make(struct mask *m, const struct master_call *c)
{
	*m = (struct mask){ .members = names_of(NAMES_TOKEN) };
	if (master_config()->token.n)
		m->secret[m->n++] = master_config()->token;
	if (c->request.token.n)
		m->secret[m->n++] = c->request.token;
}

/* About so many bytes at most, on one line. */
static void put_masked(struct buf *b, const struct mask *m, struct slice text, size_t most)
{
	size_t end = b->len + most, n;

	while (text.n && b->len < end) {
		n = mask_at(m, text);
		if (n)
			buf_puts(b, "***");
		else
			buf_putc(b, (unsigned char)text.p[0] < ' ' || text.p[0] == 0x7f
					    ? ' '
					    : text.p[0]);
		text = slice_from(text, n ? n : 1);
	}
	if (text.n)
		buf_puts(b, "...");
}

/* --- what the master says --- */

static struct slice text_at(struct master_call *c, const struct json *d, int at)
{
	return reply_text(&c->job->mem, json_raw(d, at));
}

/* The first of the names that is a member, a string or an object with such a member. */
static struct slice error_member(struct master_call *c, const struct json *d, int object, int deep)
{
	struct slice names = names_of(NAMES_ERROR), text;
	int at;

	while (names.n) {
		at = reply_member(d, object, str_word(&names));
		if (json_type(d, at) == JSON_STRING)
			return text_at(c, d, at);
		if (json_type(d, at) == JSON_OBJECT && deep) {
			text = error_member(c, d, at, deep - 1);
			if (text.n)
				return text;
		}
		if (json_type(d, at) == JSON_ARRAY)
			return json_raw(d, at);
	}
	return (struct slice){ 0 };
}

static bool is_json(struct master_call *c, struct json *d)
{
	return json_parse(d, c->text.p, c->text.len, &c->job->mem) == 0 &&
	       json_type(d, 0) == JSON_OBJECT;
}

struct slice failure_text(struct master_call *c)
{
	struct json d;

	if (is_json(c, &d))
		return error_member(c, &d, 0, 1);
	if (str_starts(slice_of(c->http.type), "text/plain"))
		return str_trim(buf_all(&c->text));
	return (struct slice){ 0 };
}

bool failure_no_route(struct master_call *c)
{
	struct json d;

	return (c->http.status == 404 || c->http.status == 405) && !is_json(c, &d);
}

/* --- and what we make of it --- */

static void put_refused(struct buf *b, const struct master_call *c)
{
	const struct request *q = &c->request;

	if (!master_config()->token.n)
		buf_puts(b, "; SANDSTORM_TOKEN is not set");
	else if ((q->route->flags & ROUTE_INSIDE) && !q->token.n)
		buf_puts(b, "; sandbox_token is missing: pass the token that spawn_sandboxes "
			    "returned for this sandbox");
	else
		buf_puts(b, "; the API token or the sandbox token was refused");
}

/*
 * Something of the master's, masked for itself: of a field that was cut to fit, only the beginning
 * of a token may be left, which nobody knows for one in the midst of a sentence.
 */
static void put_said(struct buf *b, const struct master_call *c, struct slice text)
{
	struct mask m;

	mask_make(&m, c);
	put_masked(b, &m, text, MESSAGE_MAX);
}

static void put_hint(struct buf *b, struct master_call *c)
{
	const struct http_call *h = &c->http;

	if (h->status == 401 || h->status == 403)
		put_refused(b, c);
	if (h->status == 429 || h->status == 503) {
		buf_puts(b, "; retry later");
		if (h->retry_after[0]) {
			buf_puts(b, " (Retry-After: ");
			put_said(b, c, slice_of(h->retry_after));
			buf_putc(b, ')');
		}
	}
	if (h->status >= 300 && h->status < 400) {
		buf_puts(b, "; redirects are not followed (to ");
		put_said(b, c, slice_of(h->location[0] ? h->location : "nowhere"));
		buf_putc(b, ')');
	}
}

static void put_no_route(struct buf *b, const struct master_call *c)
{
	const struct route *r = c->request.route;

	buf_printf(b,
		": this master (version %.*s) has no route %s %s; SANDSTORM_ROUTES can name "
		"another",
		SLICE(version_known()), r->method, r->path);
}

static void put_status(struct buf *b, struct master_call *c)
{
	const struct http_call *h = &c->http;
	struct slice said = failure_text(c);

	buf_printf(b, "%s %.*s answered %d", h->method, SLICE(h->target), h->status);
	if (h->reason[0])
		buf_putc(b, ' ');
	put_said(b, c, slice_of(h->reason));
	if (failure_no_route(c)) {
		put_no_route(b, c);
		return;
	}
	if (said.n)
		buf_puts(b, ": ");
	put_said(b, c, said);
	put_hint(b, c);
}

static const char *fault_name(int fault)
{
	switch (fault) {
	case -ELOOP:
		return "it is nested too deeply";
	case -EBADMSG:
		return "it is not JSON";
	default:
		return "the server's memory budget is used up";
	}
}

static void put_invalid(struct buf *b, const struct master_call *c, const char *what)
{
	char mem[4 * REPLY_HEAD_MAX];
	struct buf head;
	struct mask m;

	mask_make(&m, c);
	buf_over(&head, mem, sizeof(mem));
	mask_put_body(&m, &head, (struct slice){ c->head, c->head_len }); /* a new token, too */
	buf_printf(b, "invalid reply from the master: %s; it begins ", what);
	mask_put_quoted(&m, b, buf_all(&head), QUOTED_MAX);
}

static void put_too_large(struct buf *b, const struct master_call *c)
{
	buf_printf(b, "the master's answer to %s %.*s is over the limit of ", c->http.method,
		SLICE(c->http.target));
	if (c->request.most % MIB == 0)
		buf_printf(b, "%zu MiB", c->request.most / MIB);
	else
		buf_printf(b, "%zu bytes", c->request.most);
}

/* Nothing came, or not all of it. */
static void put_broken(struct buf *b, const struct master_call *c)
{
	const struct http_call *h = &c->http;

	buf_puts(b, h->text);
	if (h->sent && (c->request.route->flags & ROUTE_ACTS) && !c->request.looks)
		buf_puts(b, "; the operation may still be running on the master");
}

static void put_sentence(struct buf *b, struct master_call *c, const char *what)
{
	const struct http_call *h = &c->http;
	bool stopped = h->failure == HTTP_CALL_STOPPED; /* by us, who had enough of it */

	if (h->failure != HTTP_CALL_OK && !stopped)
		put_broken(b, c);
	else if (h->status < 200 || h->status >= 300)
		put_status(b, c);
	else if (c->fault == -E2BIG)
		put_too_large(b, c);
	else
		put_invalid(b, c, what ? what : fault_name(c->fault));
}

struct slice failure_masked(struct master_call *c, struct slice text)
{
	struct buf *out = &c->job->mem;
	size_t at = out->len;
	struct mask m;

	mask_make(&m, c);
	put_masked(out, &m, text, SENTENCE_MAX);
	return buf_since(out, at);
}

struct slice failure_sentence(struct master_call *c, const char *what)
{
	static char mem[SENTENCE_MAX];
	struct buf raw;
	struct slice s;

	buf_over(&raw, mem, sizeof(mem));
	put_sentence(&raw, c, what);
	s = failure_masked(c, buf_all(&raw));
	secret_wipe(mem, raw.len);
	return s;
}

static enum step say(struct job *j)
{
	struct master_call *c = j->state;
	struct slice s = failure_sentence(c, c->what);

	return tool_fail(j, "%.*s", SLICE(s));
}

enum step master_fail(struct job *j, const char *what)
{
	struct master_call *c = j->state;

	c->what = what;
	if (c->http.failure == HTTP_CALL_OK && failure_no_route(c))
		return version_learn(c, say);
	return say(j);
}
