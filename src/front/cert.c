#include "front/cert.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "base/str.h"
#include "bounds.h"
#include "config.h"
#include "front/cert_ca.h"
#include "front/cert_hosts.h"
#include "host/dirs.h"
#include "http/authority.h"
#include "tls/cert_make.h"
#include "tls/pem.h"

enum {
	/* Apple's systems refuse a server whose certificate is valid for longer, whoever signed it
	 */
	VALID_S = 825 * CERT_DAY_S,
	CLOCK_MIN_S = 1735689600, /* 2025: a clock that says less was never set */
	ALT_NAMES_MAX = 4 * KIB,
	PEM_MAX = 2 * CERT_MAX + 2 * CA_FILE_MAX,
	SAID_MAX = 8 * KIB + 6 * PATH_MAX,
};

/* One run of the command. */
static struct {
	const struct cert_options *options;
	struct slice host; /* the first one */
	struct buf alt_names;
	int64_t now;
	struct cert_ca ca;
	char cert_path[PATH_MAX], key_path[PATH_MAX];
	struct tls_key key;
	struct cert_draft draft;
	struct buf der, pem, key_pem;
} run;

/* --- what is asked for --- */

static int hosts_take(void)
{
	static char mem[ALT_NAMES_MAX];
	struct slice bad;
	int r;

	buf_over(&run.alt_names, mem, sizeof(mem));
	r = cert_hosts_put(slice_of(run.options->hosts), &run.alt_names, &run.host, &bad);
	if (r == -E2BIG)
		return complain(2, "cert: --host has too many names for one certificate");
	if (r < 0 && bad.n > 0)
		return complain(2, "cert: --host: %.*s is neither a name nor an IP address",
			SLICE(slice_head(bad, NAME_SHOWN_MAX)));
	return r < 0 ? complain(2, "cert: --host names nothing") : 0;
}

/* From the top, so that the commands we tell are good in any directory. */
static bool path_make(char *path, const char *name)
{
	char here[PATH_MAX];
	struct buf b;

	buf_over(&b, path, PATH_MAX);
	if (run.options->dir[0] != '/') {
		if (dirs_working(here, sizeof(here)) < 0)
			return false;
		buf_printf(&b, "%s/", strcmp(here, "/") == 0 ? "" : here);
	}
	buf_printf(&b, "%s/%s", run.options->dir, name);
	buf_putc(&b, '\0');
	return !b.failed;
}

static int dir_open(void)
{
	const char *dir = run.options->dir;

	if (!path_make(run.ca.cert_path, "ca.pem") || !path_make(run.ca.key_path, "ca.key") ||
		!path_make(run.cert_path, "server.pem") || !path_make(run.key_path, "server.key"))
		return complain(2, "cert: %s: %s", dir, strerror(ENAMETOOLONG));
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return complain(1, "cert: cannot make the directory %s: %s", dir, strerror(errno));
	return 0;
}

static int memory_open(void)
{
	int r = buf_reserve(&run.der, 2 * CERT_MAX);

	if (r == 0)
		r = buf_reserve(&run.pem, PEM_MAX);
	if (r == 0)
		r = buf_reserve(&run.key_pem, KEY_DER_MAX);
	return r < 0 ? complain(1, "cert: cannot start: %s", strerror(-r)) : 0;
}

static int clock_check(void)
{
	char mem[40];
	struct buf b;

	run.now = clock_unix();
	if (run.now >= CLOCK_MIN_S)
		return 0;
	buf_over(&b, mem, sizeof(mem));
	clock_put_iso(&b, run.now);
	return complain(1,
		"cert: this machine's clock says %.*s; set it first, since certificates "
		"have dates",
		SLICE(buf_all(&b)));
}

/* --- the server --- */

static void draft_make(void)
{
	const struct cert *ca = &run.ca.roots.cert[0];

	run.draft.name = run.host.n <= CERT_NAME_MAX ? run.host : LIT("sandstorm-mcp");
	run.draft.alt_names = buf_all(&run.alt_names);
	run.draft.not_before = run.now - CERT_EARLY_S;
	if (run.draft.not_before < ca->not_before)
		run.draft.not_before = ca->not_before;
	run.draft.not_after = run.draft.not_before + VALID_S - 1; /* the last second counts */
	if (run.draft.not_after > ca->not_after)
		run.draft.not_after = ca->not_after;
}

static int server_make(void)
{
	int r = tls_key_make(&run.key);

	draft_make();
	if (r == 0)
		r = cert_make(&run.der, &run.draft, &run.key, &run.ca.roots.cert[0], &run.ca.key);
	if (r == -EINVAL)
		return complain(1, "cert: the key in %s cannot sign", run.ca.key_path);
	return r < 0 ? complain(1, "cert: cannot make a certificate: %s", strerror(-r)) : 0;
}

/* The CA stands behind the server's own: `serve` hands it out as /ca.pem. */
static int server_write(void)
{
	struct new_file key = { .path = run.key_path, .mode = 0600 };
	struct new_file cert = { .path = run.cert_path, .mode = 0644 };
	int r;

	tls_key_put(&run.key, &run.key_pem);
	pem_put(&run.pem, "CERTIFICATE", buf_all(&run.der));
	for (int i = 0; i < run.ca.roots.count; i++)
		pem_put(&run.pem, "CERTIFICATE", run.ca.roots.cert[i].der);
	key.text = buf_all(&run.key_pem);
	cert.text = buf_all(&run.pem);
	r = replace_pair(&cert, &key);
	buf_reset(&run.key_pem, true); /* wipes */
	return r < 0 ? complain(1, "cert: cannot write %s and %s: %s", run.cert_path, run.key_path,
			       strerror(-r))
		     : 0;
}

/* --- what is told --- */

/* As a shell takes it for one word. */
static void put_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+,:@%";

	if (*word && strspn(word, plain) == strlen(word)) {
		buf_puts(b, word);
		return;
	}
	buf_putc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *word);
	buf_putc(b, '\'');
}

static void put_files(struct buf *b)
{
	struct cert server;

	buf_printf(b, "%s the CA in %s; keep %s to yourself:\n", run.ca.is_new ? "Made" : "Used",
		run.ca.cert_path, run.ca.key_path);
	cert_put(b, &run.ca.roots.cert[0]);
	if (cert_parse(&server, buf_all(&run.der)) < 0)
		return;
	buf_printf(b, "\nMade a certificate for %s, %s with its key %s:\nvalid:          ",
		run.options->hosts, run.cert_path, run.key_path);
	cert_put_validity(b, &server);
}

/* A name with a "*" stands for many. */
static void put_url(struct buf *b)
{
	char mem[300];
	struct buf host;

	buf_over(&host, mem, sizeof(mem));
	buf_slice(&host, run.host.p[0] == '*' ? LIT("NAME") : run.host);
	if (run.host.p[0] == '*')
		buf_slice(&host, slice_from(run.host, 1));
	buf_putc(&host, '\0');
	buf_puts(b, "https://");
	authority_put(b, mem, run.options->port);
}

static void put_next(struct buf *b)
{
	buf_puts(b, "\n\nOn this machine (a server that runs takes a new certificate at SIGHUP):\n"
		    "  sandstorm-mcp serve --mcp-host 0.0.0.0 --tls-cert ");
	put_word(b, run.cert_path);
	buf_puts(b, " --tls-key ");
	put_word(b, run.key_path);
	buf_puts(b, "\nWhere a client runs, to get ca.pem and trust it:\n  sandstorm-mcp ca ");
	put_url(b);
	buf_puts(b, " ca.pem --fingerprint ");
	cert_put_fingerprint(b, &run.ca.roots.cert[0]);
	buf_puts(b, "\n  NODE_EXTRA_CA_CERTS=$PWD/ca.pem claude\n");
}

static int say(void)
{
	static char mem[SAID_MAX];
	struct buf b;
	int r;

	buf_over(&b, mem, sizeof(mem));
	put_files(&b);
	put_next(&b);
	r = write_all(STDOUT_FILENO, buf_all(&b));
	return r < 0 ? complain(1, "cert: cannot write to standard output: %s", strerror(-r)) : 0;
}

/* --- the command --- */

int cert_run(const struct cert_options *o)
{
	int r;

	run.options = o;
	r = hosts_take();
	if (r == 0)
		r = memory_open();
	if (r == 0)
		r = clock_check();
	if (r == 0)
		r = dir_open();
	if (r)
		return r;
	random_wait();
	r = cert_ca_take(&run.ca, run.now);
	if (r == 0)
		r = server_make();
	if (r == 0)
		r = server_write();
	return r ? r : say();
}
