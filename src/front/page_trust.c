#include "front/page_trust.h"

/* Each takes the CA from a file ca.pem. All of it is HTML as it stands. */
static const struct {
	const char *who, *lines;
} recipes[] = {
	{ "Claude Code and all else that runs on Node",
		"NODE_EXTRA_CA_CERTS=/path/to/ca.pem claude" },
	{ "Python programs", "SSL_CERT_FILE=/path/to/ca.pem" },
	{ "sandstorm-mcp", "SANDSTORM_CA=/path/to/ca.pem" },
	{ "Debian, Ubuntu", "sudo cp ca.pem /usr/local/share/ca-certificates/sandstorm.crt\n"
			    "sudo update-ca-certificates" },
	{ "macOS", "sudo security add-trusted-cert -d -r trustRoot \\\n"
		   "  -k /Library/Keychains/System.keychain ca.pem" },
	{ "Windows", "certutil -user -addstore Root ca.pem" },
	{ 0 },
};

void page_put_trust(struct buf *b, const struct cert *ca)
{
	buf_puts(b, "<h2>Its certificate comes from a private CA</h2>"
		    "<p>Programs refuse it until they trust that CA, which is in "
		    "<a href=\"ca.pem\">ca.pem</a>. Its SHA-256 must be the one that "
		    "<code>sandstorm-mcp cert</code> told where it was made, or somebody else may "
		    "be answering here:</p><pre><code>");
	cert_put_fingerprint(b, ca);
	buf_puts(b, "</code></pre><dl>");
	for (int i = 0; recipes[i].who; i++) {
		buf_printf(b, "<dt>%s</dt><dd><pre><code>", recipes[i].who);
		buf_puts(b, recipes[i].lines);
		buf_puts(b, "</code></pre></dd>");
	}
	buf_puts(b, "</dl>");
}
