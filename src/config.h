/*
 * Configuration: flags over environment over --env-file over defaults, through one table. Every
 * complaint about it is made here, as one line on stderr.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdint.h>

#include "base/buf.h"

struct jw;

struct config {
	const char *root;
	const char *tools;  /* NULL: the default of the transport */
	const char *scrub;  /* names of further secrets, or NULL */
	int64_t max_output; /* bytes a stream; 0: the default of each toolset */
	int64_t memory;     /* budget in bytes; 0: by the machine */
	int64_t stop_grace_ms;
	int64_t log_level; /* enum log_level */
	int64_t log_json;  /* -1: as the transport has it; truth values from here */
	int64_t read_only;
	int64_t structured;
	int64_t stdio;  /* serve --stdio */
	int64_t check;  /* serve --check */
	const char *ip; /* of a machine whose /init we are, see boot/net_text.h; NULL: unset */
	/* the master that the sandbox tools drive, see upstream.h */
	const char *url, *ca, *routes, *trace; /* all but url: NULL or empty: unset */
	int64_t http_timeout_ms, start_timeout_ms;
	/* serve */
	const char *host;
	const char *allowed_origins, *allowed_hosts, *public_url, *domain, *trusted_proxies;
	const char *tls_cert, *tls_key;
	const char *acme_webroot; /* or NULL */
	const char *state_dir;    /* NULL: below the root */
	int64_t port, acme_port, rate_limit, max_conns, max_instances;
	int64_t health_detail;
};

/*
 * Reads argv[0..argc) (without program name and subcommand) and the environment into *c. Words that
 * are no flags are moved to the front of argv, *words tells how many; the command knows `most`. 0,
 * or 2 after the complaint was printed.
 */
int config_load(struct config *c, int argc, char **argv, int most, int *words)
	__attribute__((warn_unused_result));

/* Is it one of the variables that configure us? */
bool config_is_ours(struct slice name);

/* The part of --help about flags and variables. */
void config_help(struct buf *b);
/* The same as a JSON array, for the README's table. */
void config_json(struct jw *w);

/* Prints "sandstorm-mcp: " and the line to stderr; gives status, for return complain(2, ...). */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
