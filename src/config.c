#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "environment.h"
#include "json/json_write.h"

#define AT(member) offsetof(struct config, member)

enum { FLAG_SIZE = 40 };
enum kind { TEXT, BYTES, NUMBER, SECONDS, TRUTH, LEVEL, FORMAT, ENV_FILE };

/*
 * The one table: parsing, --help and the README are made from it. A flag is the variable's name
 * without SANDSTORM_, so that --help need not show both.
 */
static const struct option {
	const char *name; /* of the variable; of a flag without one that of the flag */
	enum kind kind;
	uint16_t at; /* in struct config: const char * for TEXT, int64_t otherwise */
	int32_t min, max;
	const char *dflt; /* as text; NULL: none */
	const char *help;
} options[] = {
	// clang-format off
	{ "SANDSTORM_WORKSPACE_ROOT", TEXT, AT(root), 0, 0, "/home/dev",
		"directory the file tools work in" },
	{ "SANDSTORM_TOOLS", TEXT, AT(tools), 0, 0, NULL,
		"toolsets and tools, -name removes one" },
	{ "SANDSTORM_READ_ONLY", TRUTH, AT(read_only), 0, 1, "0",
		"only tools that change nothing" },
	{ "SANDSTORM_MAX_OUTPUT", BYTES, AT(max_output), SANDBOX_OUTPUT_MIN,
		OUTPUT_MAX,
		NULL, "bytes of a stream [1048576, of sandboxes 65536]" },
	{ "SANDSTORM_MEMORY", BYTES, AT(memory), MEM_BUDGET_MIN, INT32_MAX, NULL,
		"memory for messages; by the machine's" },
	{ "SANDSTORM_STOP_GRACE", SECONDS, AT(stop_grace_ms), 0, 3600 * 1000, "0",
		"seconds that calls may run on after TERM" },
	{ "SANDSTORM_SCRUB_ENV", TEXT, AT(scrub), 0, 0, NULL,
		"more variables kept from commands" },
	{ "SANDSTORM_STRUCTURED_RESULTS", TRUTH, AT(structured), 0, 1, "0",
		"send texts as structuredContent, too" },
	{ "SANDSTORM_LOG_LEVEL", LEVEL, AT(log_level), 0, 0, "INFO",
		"DEBUG, INFO, WARNING, ERROR, CRITICAL" },
	{ "SANDSTORM_LOG_FORMAT", FORMAT, AT(log_json), 0, 0, NULL,
		"text, or json as serve has it" },
	{ "SANDSTORM_URL", TEXT, AT(url), 0, 0, "https://127.0.0.1:8080",
		"Sandstorm master" },
	{ "SANDSTORM_CA", TEXT, AT(ca), 0, 0, NULL,
		"PEM file with the master's CA" },
	{ "SANDSTORM_HTTP_TIMEOUT", SECONDS, AT(http_timeout_ms), 1000,
		3600 * 1000, "60", "seconds for the master to answer" },
	{ "SANDSTORM_START_TIMEOUT", SECONDS, AT(start_timeout_ms), 1000,
		600 * 1000, "60", "seconds for new sandboxes to run" },
	{ "SANDSTORM_ROUTES", TEXT, AT(routes), 0, 0, NULL,
		"file that corrects the master's routes" },
	{ "SANDSTORM_TRACE", TEXT, AT(trace), 0, 0, NULL,
		"file for what master and server say" },
	{ "SANDSTORM_MCP_HOST", TEXT, AT(host), 0, 0, "127.0.0.1",
		"address to serve on" },
	{ "SANDSTORM_MCP_PORT", NUMBER, AT(port), 1, 65535, "8080",
		"port to serve on" },
	{ "SANDSTORM_TLS_CERT", TEXT, AT(tls_cert), 0, 0, NULL,
		"PEM file: certificate, then its chain" },
	{ "SANDSTORM_TLS_KEY", TEXT, AT(tls_key), 0, 0, NULL,
		"PEM file with its key; both: https" },
	{ "SANDSTORM_RATE_LIMIT", NUMBER, AT(rate_limit), 0, INT32_MAX, "600",
		"requests a minute a caller, 0: any" },
	{ "SANDSTORM_MAX_CONNECTIONS", NUMBER, AT(max_conns), CONNS_MIN,
		CONNS_MAX, "1024", "connections at once" },
	{ "SANDSTORM_ALLOWED_ORIGINS", TEXT, AT(allowed_origins), 0, 0, NULL,
		"web pages that may call, besides loopback" },
	{ "SANDSTORM_ALLOWED_HOSTS", TEXT, AT(allowed_hosts), 0, 0, NULL,
		"names in Host that are served; any" },
	{ "SANDSTORM_PUBLIC_URL", TEXT, AT(public_url), 0, 0, NULL,
		"address that clients see, behind a proxy" },
	{ "SANDSTORM_DOMAIN", TEXT, AT(domain), 0, 0, NULL,
		"the same as a name, for https" },
	{ "SANDSTORM_TRUSTED_PROXIES", TEXT, AT(trusted_proxies), 0, 0, NULL,
		"networks of proxies; loopback" },
	{ "SANDSTORM_ACME_WEBROOT", TEXT, AT(acme_webroot), 0, 0, NULL,
		"folder of an ACME client in webroot mode" },
	{ "SANDSTORM_ACME_PORT", NUMBER, AT(acme_port), 1, 65535, "80",
		"where it is served by plain HTTP beside TLS" },
	{ "SANDSTORM_STATE_DIR", TEXT, AT(state_dir), 0, 0, NULL,
		"what is to survive a restart; below the root" },
	{ "SANDSTORM_HEALTH_DETAIL", TRUTH, AT(health_detail), 0, 1, "0",
		"/health tells all without the token" },
	{ "SANDSTORM_IP", TEXT, AT(ip), 0, 0, NULL,
		"as process 1: ADDRESS/LEN[,GATEWAY[,DNS]]" },
	{ "MAX_INSTANCES", NUMBER, AT(max_instances), 1, 1000, "5",
		"sessions at once" },
	{ "--stdio", TRUTH, AT(stdio), 0, 1, NULL,
		"serve on standard input and output" },
	{ "--check", TRUTH, AT(check), 0, 1, NULL,
		"only say what is wrong with the settings" },
	{ "--env-file", ENV_FILE, 0, 0, 0, NULL,
		"read NAME=value lines from a file" },
	// clang-format on
	{ 0 },
};

static bool has_variable(const struct option *o)
{
	return o->name[0] != '-';
}

/* Good until the next call. */
static const char *flag_of(const struct option *o)
{
	static char mem[FLAG_SIZE];
	const char *s = o->name;
	struct buf b;

	if (!has_variable(o))
		return s;
	buf_over(&b, mem, sizeof(mem));
	buf_puts(&b, "--");
	for (s += str_starts(slice_of(s), "SANDSTORM_") ? 10 : 0; *s; s++)
		buf_putc(&b, *s == '_' ? '-' : (char)(*s | 0x20));
	buf_putc(&b, '\0');
	return mem;
}

/* struct flags has one bit for each. */
_Static_assert(sizeof(options) / sizeof(*options) <= 64, "one word holds the flags");

int complain(int status, const char *fmt, ...)
{
	char mem[8 * KIB];
	struct buf b;
	va_list ap;

	buf_over(&b, mem, sizeof(mem) - 1);
	buf_puts(&b, "sandstorm-mcp: ");
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < b.len; i++) /* one line, whatever the value holds */
		if ((unsigned char)mem[i] < ' ')
			mem[i] = '?';
	mem[b.len++] = '\n';
	if (write(STDERR_FILENO, b.p, b.len) < 0)
		return status;
	return status;
}

/* --- values --- */

struct word {
	const char *word;
	int64_t value;
};

static const struct word truths[] = {
	{ "1", 1 },
	{ "true", 1 },
	{ "yes", 1 },
	{ "on", 1 },
	{ "0", 0 },
	{ "false", 0 },
	{ "no", 0 },
	{ "off", 0 },
	{ 0 },
};
static const struct word levels[] = {
	{ "debug", LOG_DEBUG },
	{ "info", LOG_INFO },
	{ "warning", LOG_WARN },
	{ "warn", LOG_WARN },
	{ "error", LOG_ERROR },
	{ "critical", LOG_ERROR },
	{ 0 },
};
static const struct word formats[] = { { "text", 0 }, { "json", 1 }, { 0 } };

static bool same_word(const char *a, const char *b)
{
	while (*a && ((*a >= 'A' && *a <= 'Z') ? *a + 32 : *a) == *b)
		a++, b++;
	return !*a && !*b;
}

static int parse_word(const struct word *words, const char *text, int64_t *out)
{
	for (; words->word; words++)
		if (same_word(text, words->word)) {
			*out = words->value;
			return 0;
		}
	return -EINVAL;
}

/* A number of bytes, with K or M behind it for the binary multiples. */
static int parse_bytes(const char *text, int64_t *out)
{
	struct slice s = slice_of(text);
	int64_t unit = 1;

	if (s.n && (s.p[s.n - 1] == 'K' || s.p[s.n - 1] == 'k'))
		unit = KIB;
	if (s.n && (s.p[s.n - 1] == 'M' || s.p[s.n - 1] == 'm'))
		unit = MIB;
	if (unit > 1)
		s.n--;
	if (str_int(s, out) < 0 || *out < 0 || *out > INT64_MAX / unit)
		return -EINVAL;
	*out *= unit;
	return 0;
}

static int parse_value(const struct option *o, const char *text, int64_t *out)
{
	switch (o->kind) {
	case BYTES:
		return parse_bytes(text, out);
	case NUMBER:
		return str_int(slice_of(text), out);
	case SECONDS:
		return str_milli(slice_of(text), out, NULL);
	case TRUTH:
		return parse_word(truths, text, out);
	case LEVEL:
		return parse_word(levels, text, out);
	case FORMAT:
		return parse_word(formats, text, out);
	case TEXT:
	case ENV_FILE:
		break;
	}
	return -EINVAL;
}

static const char *kind_form(const struct option *o)
{
	static const char *const forms[] = {
		[BYTES] = "a number of bytes, such as 65536 or 1M",
		[NUMBER] = "a number",
		[SECONDS] = "a number of seconds",
		[TRUTH] = "1 or 0",
		[LEVEL] = "DEBUG, INFO, WARNING, ERROR or CRITICAL",
		[FORMAT] = "text or json",
	};

	return forms[o->kind];
}

/* source: the name under which the user gave it. */
static int option_set(
	struct config *c, const struct option *o, const char *source, const char *text)
{
	char *field = (char *)c + o->at;
	int64_t value;

	if (o->kind == ENV_FILE)
		return 0;
	if (o->kind == TEXT) {
		memcpy(field, &text, sizeof(text));
		return 0;
	}
	if (parse_value(o, text, &value) < 0)
		return complain(2, "%s: \"%s\" is not %s", source, text, kind_form(o));
	if ((o->max && value > o->max) || value < o->min)
		return complain(2, "%s: %s is not between %lld and %lld%s", source, text,
			(long long)o->min / (o->kind == SECONDS ? 1000 : 1),
			(long long)o->max / (o->kind == SECONDS ? 1000 : 1),
			o->kind == SECONDS ? " seconds" : "");
	memcpy(field, &value, sizeof(value));
	return 0;
}

/* --- sources --- */

static const struct option *option_find(struct slice name, bool flag)
{
	for (const struct option *o = options; o->name; o++)
		if (flag ? slice_is(name, flag_of(o)) : has_variable(o) && slice_is(name, o->name))
			return o;
	return NULL;
}

bool config_is_ours(struct slice name)
{
	return option_find(name, false) != NULL;
}

/*
 * The flag at argv[*i] and its value: "--flag=value", "--flag value", or "--flag" alone for a
 * truth. Moves *i to the last word used.
 */
static int flag_take(int argc, char **argv, int *i, const struct option **o, const char **value)
{
	struct slice rest = slice_of(argv[*i]), name = str_split(&rest, '=');
	bool attached = name.n < strlen(argv[*i]);

	*o = option_find(name, true);
	if (!*o)
		return complain(2, "unknown option %.*s, see --help", SLICE(name));
	if (attached)
		*value = argv[*i] + name.n + 1;
	else if ((*o)->kind == TRUTH)
		*value = "1";
	else if (*i + 1 < argc)
		*value = argv[++*i];
	else
		return complain(2, "option %s needs a value, see --help", flag_of(*o));
	return 0;
}

/* Which options the flags have set: bit i for options[i]. */
struct flags {
	uint64_t given;
	const char *env_file;
};

/* Words that are no flags move to the front of argv. */
static int flags_load(struct config *c, int argc, char **argv, int *words, struct flags *f)
{
	const struct option *o;
	const char *value = NULL;
	int r = 0;

	*words = 0;
	for (int i = 0; i < argc && r == 0; i++) {
		if (!str_starts(slice_of(argv[i]), "--")) {
			argv[(*words)++] = argv[i];
			continue;
		}
		r = flag_take(argc, argv, &i, &o, &value);
		if (r)
			break;
		f->given |= UINT64_C(1) << (o - options);
		if (o->kind == ENV_FILE)
			f->env_file = value;
		r = option_set(c, o, flag_of(o), value);
	}
	return r;
}

static int env_file_use(const char *path)
{
	int line, r;

	if (!path)
		return 0;
	r = env_file_load(path, &line);
	if (r == -EBADMSG)
		return complain(2, "%s line %d is not NAME=value", path, line);
	if (r == -E2BIG)
		return complain(2, "%s is over the limit of %d bytes", path, ENV_FILE_MAX);
	return r < 0 ? complain(2, "cannot read --env-file %s: %s", path, strerror(-r)) : 0;
}

/* What no flag has set comes from the environment, the env file (env_get knows both), or the
 * default. */
static int options_fill(struct config *c, uint64_t given)
{
	int r = 0;

	for (const struct option *o = options; o->name && r == 0; o++) {
		const char *value = has_variable(o) ? env_get(o->name) : NULL;

		if (given >> (o - options) & 1)
			continue;
		if (value)
			r = option_set(c, o, o->name, value);
		else if (o->dflt)
			r = option_set(c, o, flag_of(o), o->dflt);
	}
	return r;
}

int config_load(struct config *c, int argc, char **argv, int most, int *words)
{
	struct flags f = { 0 };
	int r;

	*c = (struct config){ .log_json = -1 };
	r = flags_load(c, argc, argv, words, &f);
	if (r == 0)
		r = env_file_use(f.env_file);
	if (r == 0)
		r = options_fill(c, f.given);
	if (r == 0 && *words > most)
		r = complain(2, "unknown word %s, see --help", argv[most]);
	return r;
}

/* --- what people read --- */

void config_help(struct buf *b)
{
	for (const struct option *o = options; o->name; o++)
		buf_printf(b, "  %-29s %s%s%s%s\n", o->name, o->help, o->dflt ? " [" : "",
			o->dflt ? o->dflt : "", o->dflt ? "]" : "");
}

void config_json(struct jw *w)
{
	jw_array(w, NULL);
	for (const struct option *o = options; o->name; o++) {
		jw_object(w, NULL);
		jw_puts(w, "name", has_variable(o) ? o->name : "");
		jw_puts(w, "flag", flag_of(o));
		jw_puts(w, "default", o->dflt ? o->dflt : "");
		jw_puts(w, "help", o->help);
		jw_close(w);
	}
	jw_close(w);
}
