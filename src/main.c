/*
 * sandstorm-mcp: an MCP server in one static binary. This file has the commands.
 *
 * The way of a message: front/stdio or http/ and front/http_mcp -> mcp/rpc -> mcp/methods ->
 * mcp/bind -> a tool in host/ -> mcp/answer -> back to the transport.
 */
#include <unistd.h>

#include "base/file.h"
#include "boot/words.h"
#include "bounds.h"
#include "front/ca.h"
#include "front/call.h"
#include "front/cert.h"
#include "front/doctor.h"
#include "front/health.h"
#include "front/token.h"
#include "http/authority.h"
#include "licenses.h"
#include "loop/proc.h"
#include "machine.h"
#include "mcp/tool.h"
#include "proxy/proxy.h"
#include "proxy/routes.h"
#include "relro.h"
#include "secrets.h"
#include "serving.h"
#include "start.h"
#include "tls/roots.h"
#include "upstream.h"
#include "version.h"

static struct config cfg;
static char text_mem[64 * KIB]; /* what the short commands print */

static int print(const struct buf *b)
{
	if (b->failed)
		return complain(1, "the text does not fit into %zu bytes", b->max);
	return write_all(STDOUT_FILENO, buf_all(b)) < 0;
}

/* --- flags that only one command knows --- */

static void words_drop(int *argc, char **argv, int at, int n)
{
	for (*argc -= n; at < *argc; at++)
		argv[at] = argv[at + n];
}

/* Takes the flag out of argv. */
static bool take_flag(int *argc, char **argv, const char *flag)
{
	for (int i = 0; i < *argc; i++)
		if (strcmp(argv[i], flag) == 0) {
			words_drop(argc, argv, i, 1);
			return true;
		}
	return false;
}

/* The same with its value, "--flag value" or "--flag=value"; NULL: it is not there. */
static const char *take_value(int *argc, char **argv, const char *flag)
{
	size_t n = strlen(flag);

	for (int i = 0; i < *argc; i++) {
		bool next = strcmp(argv[i], flag) == 0 && i + 1 < *argc;
		const char *value = next ? argv[i + 1] : argv[i] + n;

		if (strncmp(argv[i], flag, n) != 0 || (argv[i][n] && argv[i][n] != '='))
			continue;
		words_drop(argc, argv, i, next ? 2 : 1);
		return *value == '=' && !next ? value + 1 : value;
	}
	return NULL;
}

/* --- tools --- */

static void put_tool_lines(struct buf *b)
{
	for (const struct tool *t = tool_next(NULL); t; t = tool_next(t))
		buf_printf(b, "%-26s %s\n", t->name, t->title);
}

static int cmd_tools(int argc, char **argv)
{
	bool json = take_flag(&argc, argv, "--json"),
	     options = take_flag(&argc, argv, "--config-json"),
	     routes = take_flag(&argc, argv, "--routes-json");
	int words, r = start_config(&cfg, argc, argv, 0, &words);
	struct buf b;
	struct jw w;

	buf_over(&b, text_mem, sizeof(text_mem));
	jw_init(&w, &b);
	tools_setup(cfg.root,
		cfg.structured); /* listing needs no workspace: nothing is opened or made */
	if (r == 0 && !options && !routes)
		r = start_tools(&cfg, "sandbox,host");
	if (r)
		return r;
	if (options)
		config_json(&w);
	else if (routes)
		routes_json(&w);
	else if (json)
		tools_put(&w, NULL);
	else
		put_tool_lines(&b);
	if (json || options || routes)
		buf_putc(&b, '\n');
	return print(&b);
}

/* --- call --- */

static void stop_call(int64_t grace_ms)
{
	(void)grace_ms;
	job_stop_all();
}

static int cmd_call(int argc, char **argv)
{
	static const struct transport call = { .stop = stop_call };
	int words, r = start_config(&cfg, argc, argv, argc, &words);

	if (r == 0 && (words < 1 || words > 2))
		r = complain(2, "call needs a tool and its arguments: call file_read "
				"'{\"path\":\"notes.txt\"}'");
	if (r == 0)
		r = start_up(&cfg, sandbox_tool(slice_of(argv[0])) ? "sandbox" : "host", &call);
	if (r)
		return r;
	if (call_start(argv[0], words > 1 ? argv[1] : "{}") < 0)
		return complain(2,
			"the arguments of call must be a JSON object: call %s "
			"'{\"name\":\"value\"}'",
			argv[0]);
	return start_run();
}

/* --- what needs no loop --- */

static int cmd_token(int argc, char **argv)
{
	bool rotate = take_flag(&argc, argv, "--rotate");
	int words, r = start_config(&cfg, argc, argv, 1, &words);

	if (r == 0 && rotate && words == 0)
		r = complain(2, "token --rotate needs the file that holds the token");
	return r ? r : token_make(words ? argv[0] : NULL, rotate);
}

/*
 * Without a word of its own `health` asks the server of the container it is in, which may have its
 * settings as flags. One that serves over stdio has no port: that it runs is all there is to say.
 */
static bool health_of_first(int *argc, char ***argv)
{
	static char *first[FIRST_WORDS_MAX];
	int n = *argc ? 0 : boot_words(first, FIRST_WORDS_MAX);

	if (n < 2 || strcmp(first[1], "serve") != 0)
		return n == 1 || (n > 1 && first[1][0] == '-');
	*argc = n - 2;
	*argv = first + 2;
	return take_flag(argc, *argv, "--stdio");
}

static int cmd_health(int argc, char **argv)
{
	static struct secret token;
	bool path; /* of the server configured here */
	int words, r;
	struct buf b;

	if (health_of_first(&argc, &argv))
		return 0;
	r = config_load(&cfg, argc, argv, 1, &words);
	if (r)
		return r;
	path = words && argv[0][0] == '/';
	buf_over(&b, text_mem, sizeof(text_mem));
	buf_puts(&b, cfg.tls_cert ? "https://" : "http://");
	authority_put(&b, cfg.host, (unsigned)cfg.port);
	buf_puts(&b, path ? argv[0] : "/health");
	buf_putc(&b, '\0');
	if (secret_load(&token, secret_mcp) <= 0)
		token.n = 0;
	return health_probe(words && !path ? argv[0] : text_mem, cfg.tls_cert, secret_text(&token));
}

static int cmd_ca(int argc, char **argv)
{
	struct ca_options o = {
		.fingerprint = take_value(&argc, argv, "--fingerprint"),
		.print = take_flag(&argc, argv, "--print"),
	};
	int words, r = start_config(&cfg, argc, argv, 2, &words);

	if (r == 0 && words == 0)
		r = complain(2, "ca needs the URL of a master: ca https://127.0.0.1:8080");
	if (r)
		return r;
	o.url = argv[0];
	o.file = words > 1 ? argv[1] : NULL;
	return ca_run(&o);
}

static int cmd_doctor(int argc, char **argv)
{
	struct doctor_config d = { .probe = take_flag(&argc, argv, "--probe") };
	int words, r = start_config(&cfg, argc, argv, 0, &words);

	if (r == 0)
		r = upstream_load(&cfg);
	if (r)
		return r;
	d.origin = upstream_origin();
	d.roots = upstream_roots();
	d.token = upstream_token();
	d.limit_ms = cfg.http_timeout_ms;
	return doctor_run(&d);
}

static int cmd_cert(int argc, char **argv)
{
	struct cert_options o = { .hosts = take_value(&argc, argv, "--host") };
	int words, r = start_config(&cfg, argc, argv, 1, &words);

	if (r == 0 && (!o.hosts || words == 0))
		r = complain(2, "cert needs the server's names and a directory: cert --host "
				"box.lan,192.168.1.5 tls");
	if (r)
		return r;
	o.dir = argv[0];
	o.port = (unsigned)cfg.port;
	return cert_run(&o);
}

/* What `make CA=ca.pem` has built in. */
static void put_roots(struct buf *b, const struct tls_roots *roots)
{
	if (!roots)
		buf_puts(b, "\nNo CA is built in: SANDSTORM_CA names one.\n");
	for (int i = 0; roots && i < roots->count; i++) {
		buf_puts(b, "\nThe CA built in, unless SANDSTORM_CA names another:\n");
		cert_put(b, &roots->cert[i]);
	}
}

static int cmd_version(int argc, char **argv)
{
	bool verbose = take_flag(&argc, argv, "--verbose");
	struct buf b;

	buf_over(&b, text_mem, sizeof(text_mem));
	buf_printf(&b, "sandstorm-mcp %s (%s, %s)\n", SERVER_VERSION, SERVER_LIBRARIES,
		machine_arch());
	if (verbose)
		put_roots(&b, tls_roots_builtin());
	return print(&b);
}

static int cmd_licenses(int argc, char **argv)
{
	struct buf b;

	(void)argc, (void)argv;
	buf_over(&b, text_mem, sizeof(text_mem));
	buf_puts(&b, "sandstorm-mcp is licensed under the Apache License 2.0. It contains:\n");
	for (int i = 0; license_at(i).name; i++) {
		struct license l = license_at(i);

		buf_printf(&b, "\n=== %s ===\n\n%s", l.name, l.copyright);
		buf_slice(&b, l.text);
	}
	return print(&b);
}

static int cmd_help(int argc, char **argv);

static const struct command {
	const char *name; /* its first word is what is typed */
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "", cmd_stdio, "sandboxes of a Sandstorm master, over stdio" },
	{ "serve", cmd_serve, "files and shell over HTTP, or over --stdio" },
	{ "--tools LIST", cmd_stdio, "those tools over stdio, such as host" },
	{ "token [FILE]", cmd_token, "make a token for serve, or --rotate it" },
	{ "health [URL]", cmd_health, "is a server alive? /mcp: with its token" },
	{ "ca URL [FILE]", cmd_ca, "a master's CA: by --fingerprint HEX, or --print" },
	{ "doctor [--probe]", cmd_doctor, "what stands between us and the master" },
	{ "cert DIR", cmd_cert, "a CA, and a certificate for --host NAMES" },
	{ "tools [--json]", cmd_tools, "list the tools" },
	{ "call TOOL [JSON]", cmd_call, "call one tool and print its text" },
	{ "--version", cmd_version, "version, what is inside; --verbose: the CA" },
	{ "--licenses", cmd_licenses, "the notices of BearSSL, jsmn and musl" },
	{ "--help", cmd_help, "this text" },
	{ 0 },
};

static int cmd_help(int argc, char **argv)
{
	struct buf b;

	(void)argc, (void)argv;
	buf_over(&b, text_mem, sizeof(text_mem));
	buf_puts(&b, "sandstorm-mcp: MCP server for sandboxes, or for the files and shell of a "
		     "machine\n\n");
	for (const struct command *c = commands; c->name; c++)
		buf_printf(&b, "  sandstorm-mcp %-16s %s\n", c->name, c->help);
	buf_puts(&b, "\nEach variable is a flag, too: SANDSTORM_READ_ONLY=1 is --read-only. "
		     "[Defaults]\n\n");
	config_help(&b);
	return print(&b);
}

static const struct command *command_find(const char *word)
{
	size_t n = strlen(word);

	for (const struct command *c = commands; c->name; c++)
		if (strncmp(c->name, word, n) == 0 && (c->name[n] == '\0' || c->name[n] == ' '))
			return c;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *c;

	relro_protect();
	proc_plug_streams();
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return cmd_help(argc, argv);
	c = argc > 1 ? command_find(argv[1]) : NULL;
	if (c && c->run != cmd_stdio)
		return c->run(argc - 2, argv + 2);
	if (argc > 1 && argv[1][0] != '-')
		return complain(2, "unknown command %s, see --help", argv[1]);
	return cmd_stdio(argc - 1, argv + 1);
}
