/*
 * The page at "/": for a person who opens the server's address in a browser.
 */
#include "bounds.h"
#include "front/oauth_reply.h"
#include "front/page.h"
#include "front/page_home.h"
#include "front/page_trust.h"
#include "base/str.h"
#include "http/head.h"
#include "tls/server.h"
#include "version.h"

enum { PAGE_MAX = 32 * KIB }; /* a URL of the longest, escaped, in every recipe */

/* How each client is told of this server; %U is the MCP URL. */
static const struct recipe {
	const char *client;
	const char *how; /* a sentence before the lines; may be NULL */
	const char *lines;
	const char *plain; /* behind the lines where the connection is not encrypted; may be NULL */
} recipes[] = {
	{ "Claude Code", NULL, "claude mcp add --transport http sandstorm %U" },
	{ "Clients without a browser", "With the token of this server in a header:",
		"claude mcp add --transport http sandstorm %U --header \"Authorization: Bearer "
		"$SANDSTORM_MCP_TOKEN\"" },
	{ "claude.ai and Claude Desktop",
		"Settings, Connectors, Add custom connector, with this address "
		"(claude.ai needs https and a public name):",
		"%U" },
	{ "ChatGPT", "Settings, Connectors, Create, with this address:", "%U" },
	{ "Cursor",
		"In ~/.cursor/mcp.json:", "{\"mcpServers\": {\"sandstorm\": {\"url\": \"%U\"}}}" },
	{ "VS Code", "In .vscode/mcp.json:",
		"{\"servers\": {\"sandstorm\": {\"type\": \"http\", \"url\": \"%U\"}}}" },
	{ "Clients that only speak stdio", NULL, "npx mcp-remote %U", " --allow-http" },
	{ 0 },
};

static void put_lines(struct buf *b, const char *lines, struct slice url)
{
	struct slice rest = slice_of(lines);

	page_text(b, str_split(&rest, '%'));
	if (rest.n == 0)
		return;
	page_text(b, url);
	page_text(b, slice_from(rest, 1));
}

static bool is_encrypted(struct slice url)
{
	return str_starts(url, "https://");
}

static void put_recipe(struct buf *b, const struct recipe *r, struct slice url)
{
	buf_printf(b, "<h2>%s</h2>", r->client);
	if (r->how)
		buf_printf(b, "<p>%s</p>", r->how);
	buf_puts(b, "<pre><code>");
	put_lines(b, r->lines, url);
	if (r->plain && !is_encrypted(url))
		buf_puts(b, r->plain);
	buf_puts(b, "</code></pre>");
}

static void put_secured(struct buf *b, struct slice issuer)
{
	buf_puts(b, "<p>It asks every client for its token. ");
	if (is_encrypted(issuer))
		buf_puts(b, "The connection is encrypted.</p>");
	else
		buf_puts(b,
			"<strong>The connection is not encrypted</strong>: that is fine on this "
			"machine alone, anywhere else the token can be read on its way.</p>");
}

void page_home_serve(struct http_request *r)
{
	static char mem[PAGE_MAX];
	char issuer_mem[PUBLIC_URL_MAX], url_mem[PUBLIC_URL_MAX + 8];
	struct buf page, issuer, url;

	buf_over(&issuer, issuer_mem, sizeof(issuer_mem));
	oauth_put_issuer(r, &issuer);
	buf_over(&url, url_mem, sizeof(url_mem));
	buf_slice(&url, buf_all(&issuer));
	buf_puts(&url, "/mcp");
	buf_over(&page, mem, sizeof(mem));
	page_begin(&page, "Sandstorm MCP");
	buf_puts(&page,
		"<p>This is sandstorm-mcp " SERVER_VERSION
		", a server that gives AI clients tools for the machine it runs on, over the "
		"Model Context Protocol.</p>");
	put_secured(&page, buf_all(&issuer));
	buf_puts(&page, "<p>When a client is connected it opens a page here that asks for the "
			"token of this server, once.</p>");
	for (const struct recipe *p = recipes; p->client; p++)
		put_recipe(&page, p, buf_all(&url));
	if (tls_server_root())
		page_put_trust(&page, tls_server_root());
	page_end(&page);
	oauth_html(r, 200, (struct slice){ 0 }, &page);
}
