/*
 * What is known of the master's REST interface, and what may turn out different with a newer
 * master: two tables, in routes.c alone. SANDSTORM_ROUTES corrects their rows at run time.
 *
 * Everything handed out here is good for the life of the program.
 */
#ifndef PROXY_ROUTES_H
#define PROXY_ROUTES_H

#include <stdint.h>

#include "json/json_write.h"

enum { WIRE_NAME_MAX = 64 }; /* bytes of a member's name */

/* How long a call may take, see request_limit_ms. */
enum route_limit {
	LIMIT_SHORT,
	LIMIT_EXEC,
	LIMIT_EVAL,
	LIMIT_SLOW,
	LIMIT_SPAWN,
	LIMIT_PING,
	LIMIT_VERSION
};

enum {
	ROUTE_INSIDE = 1, /* needs the sandbox's own token */
	ROUTE_ACTS = 2,   /* what it does may go on when we have stopped waiting */
	ROUTE_EMPTY = 4,  /* its body is {} when no member is given */
};

struct route {
	const char *tool;
	const char *method;
	const char *path; /* with {id} or {tag} for the call's sandbox_id or tag */
	/*
	 * What the body has: "argument=name", or "argument" when the two are the same, between
	 * blanks; "argument=one|two" for a name of which we know only that it is one of these.
	 * An argument that is not given is not sent.
	 */
	const char *members;
	enum route_limit limit;
	unsigned flags;
	struct slice changed; /* members of SANDSTORM_ROUTES, which go before the ones above */
};

const struct route *route_of(const char *tool); /* of one that is there; "version" is no tool */
/*
 * The rows that only read (method GET), one after the other from NULL to NULL. Paths that have a
 * '{' need an id.
 */
const struct route *route_next_read(const struct route *r);

bool method_has_body(const char *method);
/* All rows as a JSON array, for the README's table. */
void routes_json(struct jw *w);

struct member {
	struct slice arg;
	struct slice names; /* separated by '|'; empty: not sent */
};

/* The members of the body, one after the other: *at is 0 at first. False at the end. */
bool route_member(const struct route *r, size_t *at, struct member *m);
/* What argument arg is called; empty when it is not sent. */
struct slice route_wire(const struct route *r, const char *arg);
int wire_count(struct slice names);
/* The i-th of names, the last one when there are not so many. */
struct slice wire_name(struct slice names, int i);

/* The second table: words separated by blanks. */
enum names {
	NAMES_HEADER,  /* of the field that carries a sandbox's token */
	NAMES_TOKEN,   /* member of a new sandbox that is its token */
	NAMES_STATE,   /* members that may hold its state, or an object with it */
	NAMES_STARTED, /* states, compared without case ... */
	NAMES_FAILED,  /* ... all others: still starting */
	NAMES_REASON,  /* members that may say why */
	NAMES_ERROR,   /* members of an error's body that may hold its text, or an object with it */
	NAMES_COUNT
};

const char *names_key(enum names n); /* what SANDSTORM_ROUTES calls it */
struct slice names_of(enum names n);
/* Is word one of them, compared without case? */
bool names_have(enum names n, struct slice word);

/*
 * The text of a SANDSTORM_ROUTES file, which is kept from then on and written to. Lines:
 *
 *	# comment
 *	TOOL METHOD PATH [ARGUMENT=NAME ...]
 *	LIST = WORD ...
 *
 * 0, or -EBADMSG with the number of the line in *line and what to do about it in *why. Rows of
 * earlier lines are changed all the same.
 */
int routes_correct(char *text, size_t n, int *line, const char **why)
	__attribute__((warn_unused_result));
/* Back to the constant tables. */
void routes_reset(void);

/* For routes_file.c: a row to change (NULL: no such row), the words to use from now on. */
struct route *route_named(struct slice tool);
void names_correct(enum names n, struct slice words);

#endif
