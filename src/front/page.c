#include "front/page.h"

#include "base/str.h"

static const char style[] =
	":root{color-scheme:light dark}"
	"body{margin:0;font:1rem/1.5 system-ui,sans-serif;color:#1c1f23;background:#f4f5f7}"
	"main{max-width:34rem;margin:2rem auto;padding:1.5rem;background:#fff;"
	"border:1px solid #d5d9de;border-radius:.75rem}"
	"h1{margin-top:0;font-size:1.4rem;line-height:1.25}h2{font-size:1.05rem;margin-bottom:."
	"4rem}"
	"dt{margin-top:.75rem;color:#4d5661}dd{margin:0;overflow-wrap:anywhere}"
	"label{display:block;margin-top:1.25rem;font-weight:600}"
	"input,button{box-sizing:border-box;width:100%;margin-top:.4rem;padding:.7rem;font:inherit;"
	"border:1px solid #767f8a;border-radius:.4rem}"
	"button{margin-top:1rem;border-color:#0b57a4;color:#fff;background:#0b57a4;font-weight:600}"
	":focus-visible{outline:3px solid #e08a00;outline-offset:2px}"
	".problem{padding:.7rem;border-left:4px solid #b3261e;color:#8c1d18;background:#fdecea}"
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.7rem;border-radius:.4rem;"
	"background:#eef0f3}"
	"code{font-family:ui-monospace,monospace;font-size:.9rem}"
	"@media(max-width:36rem){main{box-sizing:border-box;min-height:100vh;margin:0;border:0;"
	"border-radius:0}}"
	"@media(prefers-color-scheme:dark){"
	"body{color:#e6e8eb;background:#14171a}main{background:#1d2125;border-color:#3a4149}"
	"dt{color:#b1b9c2}input{color:inherit;background:#14171a}"
	"a{color:#8ab8f0}.problem{color:#f6b8b3;background:#3a1d1b}pre{background:#14171a}}";

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* How much of text is ASCII that stays as it is: nearly all, put at once. */
static size_t plain(struct slice text)
{
	size_t n = 0;

	while (n < text.n && text.p[n] >= ' ' && text.p[n] < 0x7f && !entity(text.p[n]))
		n++;
	return n;
}

/* One character; gives its length. */
static size_t put_char(struct buf *b, struct slice text)
{
	const char *escaped = entity(text.p[0]);
	int n = utf8_seq(text);

	if (escaped)
		buf_puts(b, escaped);
	else if (n < 1 || (unsigned char)text.p[0] < ' ' || text.p[0] == 0x7f)
		buf_puts(b, "\xef\xbf\xbd");
	else
		buf_put(b, text.p, (size_t)n);
	return n > 0 ? (size_t)n : utf8_bad(text);
}

void page_text(struct buf *b, struct slice text)
{
	size_t n;

	while (text.n > 0) {
		n = plain(text);
		buf_put(b, text.p, n);
		text = slice_from(text, n);
		if (text.n > 0)
			text = slice_from(text, put_char(b, text));
	}
}

void page_begin(struct buf *b, const char *title)
{
	buf_puts(b, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	page_text(b, slice_of(title));
	buf_puts(b,
		"</title><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		"<meta name=\"robots\" content=\"noindex\"><style>");
	buf_puts(b, style);
	buf_puts(b, "</style></head><body><main><h1>");
	page_text(b, slice_of(title));
	buf_puts(b, "</h1>");
}

void page_end(struct buf *b)
{
	buf_puts(b, "</main></body></html>");
}

void page_message(struct buf *b, const char *title, const char *text)
{
	page_begin(b, title);
	buf_puts(b, "<p>");
	page_text(b, slice_of(text));
	buf_puts(b, "</p>");
	page_end(b);
}

static void put_fact(struct buf *b, const char *term, struct slice text)
{
	buf_printf(b, "<dt>%s</dt><dd>", term);
	page_text(b, text);
	buf_puts(b, "</dd>");
}

/* The address is relative: a proxy may serve us below a path of its own. */
static void put_form(struct buf *b, const struct page_authorize *p)
{
	buf_puts(b, "<form method=\"post\" action=\"authorize\">");
	for (const struct page_field *f = p->hidden; f->name; f++) {
		if (!f->value.p)
			continue;
		buf_printf(b, "<input type=\"hidden\" name=\"%s\" value=\"", f->name);
		page_text(b, f->value);
		buf_puts(b, "\">");
	}
	/* by its name password managers tell this from other tokens */
	buf_puts(b, "<input name=\"username\" value=\"sandstorm-mcp\" autocomplete=\"username\" "
		    "hidden>");
	buf_printf(b,
		"<label for=\"password\">Token of this server (SANDSTORM_MCP_TOKEN)</label>"
		"<input id=\"password\" name=\"password\" type=\"password\" required autofocus "
		"autocomplete=\"current-password\"%s><button>Allow</button></form>",
		p->problem ? " aria-invalid=\"true\" aria-describedby=\"problem\"" : "");
}

void page_put_authorize(struct buf *b, const struct page_authorize *p)
{
	page_begin(b, "Allow access to this machine?");
	if (p->problem) {
		buf_puts(b, "<p class=\"problem\" id=\"problem\" role=\"alert\">");
		page_text(b, slice_of(p->problem));
		buf_puts(b, "</p>");
	}
	buf_puts(b, "<dl>");
	put_fact(
		b, "Who asks (as it calls itself)", p->client.n ? p->client : LIT("no name given"));
	put_fact(b, "Where the answer goes", p->goes_to);
	put_fact(b, "Server", p->server);
	buf_puts(b, "</dl>");
	page_put_powers(b);
	if (p->to_this_machine)
		buf_puts(
			b, "<p>Go on only if you have just started this on your own computer.</p>");
	put_form(b, p);
	buf_puts(b, "<p>You did not start this? Close the page: nothing happens.</p>");
	page_end(b);
}
