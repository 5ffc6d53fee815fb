/*
 * Every number of the program, each with its reason. Includes nothing, may be included anywhere.
 */
#ifndef BOUNDS_H
#define BOUNDS_H

enum {
	KIB = 1024,
	MIB = 1024 * KIB,

	/* Jobs: messages in flight. One more, the spare, takes what comes when all are busy. */
	JOBS_MAX = sizeof(void *) == 4 ? 32 : 64,
	JOBS_KEPT = 8, /* never taken by calls that start a child: ping, lists, files go on */
	JOBS_WARM = 4, /* slots whose first pages stay open between messages */

	/* Memory. Address space is cheap with 8-byte pointers, half of it has to do with 4. */
	HALF_32 = sizeof(void *) == 4 ? 2 : 1,
	REQUEST_MAX = 16 * MIB / HALF_32, /* one line of stdio, one HTTP body */
	SCRATCH_MAX = 8 * MIB / HALF_32,  /* tokens and tool state of one job */
	REPLY_EXTRA = 64 * KIB,           /* envelope and notes around the captured text */
	REPLY_FACTOR = 12,                /* two streams, each byte at most 6 when escaped */
	BUF_KEEP = 16 * KIB,              /* stays open after a reset; not charged to the budget */
	BUF_STEP = 64 * KIB,              /* further pages are opened in such steps */
	MEM_BUDGET_MAX = 64 * MIB,        /* all opened pages together ... */
	MEM_BUDGET_MIN = 8 * MIB,         /* ... a quarter of the machine's memory between these */

	/* Text that a tool hands out, per stream or file. */
	OUTPUT_DEFAULT = 1 * MIB,
	OUTPUT_MIN = 4 * KIB,
	OUTPUT_MAX = 10 * MIB / (sizeof(void *) == 4 ? 10 : 1),

	CLOCK_PLAUSIBLE_MIN = 1735689600, /* 2025, in seconds since 1970: we are not older */

	/* JSON */
	JSON_DEPTH_MAX = 64,     /* one bit a level in a word; jsmn is quadratic in depth */
	JSON_TOKENS_MAX = 65536, /* 20 bytes each */
	BATCH_MAX = 32,          /* messages of one JSON-RPC batch */
	NAME_SHOWN_MAX = 200,    /* bytes of a name we do not know, when it is quoted in an error */
	ID_MAX = 1 * KIB,        /* a request id or progress token, as JSON text */

	/* HTTP */
	HTTP_HEAD_MAX = 16 * KIB, /* request line and fields, as Apache and Node */
	HTTP_FIELDS_MAX = 100,
	HTTP_SMALL_BODY = 16 * KIB,   /* waits with the connection; larger: an upload buffer */
	HTTP_ANSWER_FIELDS = 8 * KIB, /* a redirect URI, a long state and a code among them */
	HTTP_ANSWER_MAX = 64 * KIB,   /* an answer that is not a job's; SSE messages not yet sent */
	HTTP_UNSENT_MAX =
		128 * KIB, /* of one connection in the kernel, which would take megabytes */
	UPLOADS_MAX = 8,   /* bodies of up to REQUEST_MAX arriving at once; more: 503 */
	CONNS_MAX = 16384,
	CONNS_MIN = 4,
	CONNS_SHARE = 4, /* unfinished requests and answers: this part of MEM_BUDGET, so that
			    strangers leave the rest to calls */
	LISTENERS_MAX = 4,
	BACKLOG = 4096, /* not yet accepted; beyond the kernel lets newcomers wait a second */
	ACCEPT_PAUSE_MS = 100,  /* when no descriptor is free */
	DESCRIPTORS_KEPT = 384, /* beside connections: three a command, two a background process,
				   files, what the loop itself needs */
	ACCEPTS_MAX = 512, /* before the loop serves others; few, and a crowd lets others wait */
	PIPELINED_MAX =
		4, /* requests of one connection answered before others have their turn ... */
	PIPELINED_MS = 1,         /* ... for so long */
	HANDSHAKE_MS = 10 * 1000, /* of TLS, from the connection to its end */
	HANDSHAKE_GRACE_MS = 100, /* none that is younger is given up for a new connection */
	HEAD_MS = 10 * 1000,      /* from the first byte to the empty line */
	BODY_MS = 60 * 1000,      /* without a byte of the body */
	IDLE_MS = 75 * 1000,      /* between two requests */
	SEND_MS = 30 * 1000,      /* without progress while we send */
	QUIET_MS = 15 * 1000,     /* a waiting client hears something at least so often */
	LINGER_MS = 2 * 1000, /* after our last byte, so that a refusal is read before a reset */
	RATE_KEYS = 256,      /* callers counted apart; more: who was quiet longest starts anew */
	RATE_WINDOW_MS = 60 * 1000, /* requests are counted a minute, as the option says */
	FAILURES_FREE = 5,          /* wrong credentials before one has to wait: typing errors */
	FAILURE_DELAY_MAX_MS = 60 * 1000, /* doubled from 1 s up to this */
	FAILURES_FORGET_MS = 600 * 1000,
	REFUSALS_LOGGED = 10, /* a second; strangers shall not fill a disk */
	PROXIES_MAX = 32,     /* networks in SANDSTORM_TRUSTED_PROXIES */
	AUTHORITY_MAX = 300,  /* host and port; a name has at most 253 bytes */
	PUBLIC_URL_MAX = 500, /* stands twice in some answers' fields */
	PROBE_MS = 5 * 1000,  /* `health`, connecting included */

	/* The master, as its client sees it */
	MASTER_URL_MAX = 512,
	REPLY_KEPT = 4 * MIB,        /* of a reply that doctor looks at as a whole */
	MASTER_CONNS = 16,           /* about 40 KB each while open */
	MASTER_CONNS_KEPT = 2,       /* never taken by calls that may be long */
	MASTER_IDLE_MS = 10 * 1000,  /* a connection waits for its next call so long */
	CONNECT_MS = 10 * 1000,      /* name, connection and TLS together */
	REQUEST_BODY_MAX = 1 * MIB,  /* the predecessor takes 200 KB and refuses 3 MB */
	REQUEST_HEAD_MAX = 16 * KIB, /* two tokens of 5 KB, a path of three names of 1 KB */
	REPLY_BODY_MAX = 64 * MIB,   /* passed on in parts, so it costs time, not memory */
	REPLY_INTERIMS_MAX = 16,     /* 1xx before the reply */
	TRACE_BODY_MAX = 64 * KIB,   /* of each body in SANDSTORM_TRACE */
	DNS_ANSWER_MAX = 4 * KIB,    /* of a name server, over TCP as well */
	RESOLVED_MAX = 8,            /* of a name, tried in turn */

	/* Loop */
	WATCHES_MAX = CONNS_MAX + 512, /* connections, two pipes a child, the drain table */
	READ_CHUNK = 64 * KIB,         /* one read(2); the buffer is shared by all streams */

	/* Sandbox tools (sandbox-tools.md sections 1, 3, 5 and 6) */
	SANDBOX_OUTPUT_DEFAULT = 64 * KIB, /* of a string in a master's reply */
	SANDBOX_OUTPUT_MIN = 1 * KIB,
	SANDBOX_OUTPUT_MAX = 1 * MIB,
	RESULT_MAX = 1 * MIB,       /* text of a result; more is of no use to a model */
	ERROR_BODY_MAX = 16 * KIB,  /* of what a master says about an error */
	ROUTES_FILE_MAX = 16 * KIB, /* SANDSTORM_ROUTES: both tables, every row changed, is 3 KB */
	SECRET_MAX = 4096,          /* a token or the file it is in */
	API_TOKEN_MAX = 1024,
	SANDBOX_TOKEN_MAX = 4096,
	SANDBOX_ID_MAX = 256, /* also of a template's name */
	TAG_MAX = 64,         /* as the predecessor has it */
	TIMEOUT_MAX_S = 3600,
	EXEC_TIMEOUT_S = 30,
	EXEC_MARGIN_MS = 15 * 1000, /* the predecessor's own is 5 s each to connect and to read */
	EVAL_MS = 75 * 1000,
	SLOW_MS = 300 * 1000, /* branch writes memory to disk, touch reads it */
	SPAWN_MARGIN_MS = 60 * 1000,
	PING_MS = 15 * 1000,
	MASTER_VERSION_MS = 5 * 1000,
	WAIT_MS = 60 * 1000, /* wait_for_text, in all and between two looks */
	WAIT_POLL_MS = 200,

	/* TLS */
	ROOTS_MAX = 8,           /* certificates in SANDSTORM_CA; a master has one */
	CA_FILE_MAX = 64 * KIB,  /* the file with them; larger ones are bundles of public CAs */
	KEY_DER_MAX = 4 * KIB,   /* a private key; RSA of 4096 bits has 2.4 KB */
	CERT_NAME_MAX = 64,      /* bytes of a common name, RFC 5280 appendix A */
	CERT_MAX = 8 * KIB,      /* a server's certificate that is searched for an IP address */
	CA_FETCH_MS = 10 * 1000, /* `ca`: the name; then once more, connecting and the answer */
	TLS_CONNS_MAX = 256,     /* of a server, where the budget allows so many: a quarter of it */
	TLS_CONN_SIZE = 26 * KIB,   /* one with all of its buffers used */
	TLS_RELOAD_AGAIN_MS = 1000, /* a third certificate while handshakes still use the first */
	TLS_SESSIONS_MAX = 256,     /* kept by a server for short handshakes, 100 bytes each */
	TLS_SESSIONS_MS = 24 * 3600 * 1000, /* all are forgotten so often, RFC 5246 F.1.4 */
	ENTROPY_POLL_MS = 50,               /* at early boot, until the kernel has random numbers */

	/* Children */
	EXEC_DEFAULT_MS = 30 * 1000,
	EXEC_MAX_MS = 300 * 1000,
	KILL_GRACE_MS = 1000,   /* TERM, then KILL */
	DRAIN_IDLE_MS = 100,    /* the shell is gone, the pipe silent for so long: answer */
	DRAIN_CAP_MS = 2000,    /* the shell is gone, the pipe never silent: answer */
	DRAINS_MAX = 32,        /* pipes of ended calls that are still read and dropped */
	CHILD_ENV_MAX = 1024,   /* variables handed on */
	CHILD_ENV_MORE = 128,   /* variables one command gets besides */
	COMMAND_ARGS_MAX = 256, /* words of one command */
	PACKAGES_MAX = 200,     /* of one workspace_install; they are words of a command */
	INSTALL_MS = 120 * 1000,

	/* Git: the reference's times */
	GIT_MS = 30 * 1000,
	GIT_REMOTE_MS = 60 * 1000, /* push and pull */
	GIT_CLONE_MS = 120 * 1000,
	GIT_CONFIG_MS = 5 * 1000, /* to ask for a setting: it only reads small files */
	GIT_LOG_DEFAULT = 10,
	GIT_LOG_MAX = 100,

	/* Processes in the background */
	BACKGROUND_MAX = 64,        /* known; those that have ended give way to new ones */
	BACKGROUND_FILE = 1 * MIB,  /* one's output; file_read shows so much at once */
	BACKGROUND_FILES = 64,      /* of them; the oldest go first */
	BACKGROUND_KEPT = BUF_KEEP, /* output where no file can be written */
	BACKGROUND_LOOK_MS = 20,    /* terminal_kill looks so often whether it is gone */
	BACKGROUND_STOP_MS = 1500,  /* at the end of the server: TERM, KILL after the grace */

	/* Progress */
	PROGRESS_FIRST_MS = 1000,
	PROGRESS_EVERY_MS = 250,
	PROGRESS_TEXT_MAX = 200, /* bytes of the last line of output */

	/* Files */
	LIST_MAX = 500, /* lines of a recursive listing, as in the reference */
	LIST_DEPTH = 5,
	LINKS_MAX = 40,               /* symbolic links followed in one path, as Linux does */
	COUNT_MAX = 64 * MIB,         /* lines are counted in files up to this */
	FSYNC_INLINE_MAX = 256 * KIB, /* a larger write is synced by a worker, not in the loop */
	SLICE_BYTES = 1 * MIB,        /* file bytes looked at before the loop gets its turn */
	SLICE_ENTRIES = 2000,         /* directory entries, likewise */

	/* OAuth */
	REDIRECT_MAX = 512, /* bytes of a redirect URI */
	REDIRECTS_MAX = 16, /* of one client; VS Code has six */
	CLIENT_ID_MAX = 4 * KIB,
	CLIENT_NAME_MAX = 100, /* bytes shown on the page */
	CODE_MS = 600 * 1000,  /* until a code is redeemed */
	CODES_MAX = 64,        /* issued and not expired; more: the oldest goes */
	ACCESS_S = 30 * 24 * 3600,
	REFRESH_S = 180 * 24 * 3600, /* unused for so long: ended */
	FAMILIES_MAX = 256, /* sign-ins that may be refreshed; more: the one unused longest goes */
	REFRESH_AGAIN_S = 60, /* the last but one is taken so long: an answer may get lost */

	/* Sessions */
	SESSIONS_MAX = 2048, /* rows: MAX_INSTANCES and those that have ended a short time ago */
	SESSION_TYPE_BYTES = 128,
	SESSION_KEPT_MS = 24 * 3600 * 1000, /* what has ended can still be asked for */
	SESSION_REAP_MS = 300 * 1000,
	SESSION_LINE_MAX = 2 * KIB,    /* of the state file: an id, a type with escapes, numbers */
	SESSION_LOG_MAX = 1 * MIB,     /* the state file grows to this before it is written anew */
	SESSION_CONTEXT_MAX = 1 * MIB, /* JSON text of a context */
	SESSION_ENV_BYTES = 64 * KIB,  /* of context/env.json, the environment of its commands */
	SESSION_CLOCK_STEP_MS = 5000,  /* the clock is slewed by less and set by more */
	SESSION_CLONE_MS = 120 * 1000,
	SESSION_REMOVERS = 4, /* trees removed at once, by a process each */

	/* ACME */
	ACME_TOKEN_MAX = 128,    /* at least 22 characters; authorities use 43 */
	ACME_FILE_MAX = 1 * KIB, /* a token, a dot and a thumbprint of 43 characters */

	/* Process 1 */
	INTERFACES_MAX = 64,     /* the highest index looked at for the first of Ethernet */
	INTERFACE_POLL_MS = 100, /* while its driver may be loading ... */
	INTERFACE_LOOKS = 100,   /* ... for ten seconds, then less often */
	INTERFACE_LATE_MS = 1000,
	BOOT_END_MS = 1000, /* for other processes between TERM and KILL */
	BOOT_END_PAUSE_MS = 10,
	FIRST_WORDS_MAX = 64, /* of its command line, for `health` beside it */
	FIRST_WORDS_SIZE = 4 * KIB,

	/* Command line */
	ENV_FILE_MAX = 64 * KIB,
};

#endif
