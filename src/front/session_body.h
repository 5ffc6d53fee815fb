/*
 * The JSON bodies of the sessions API, checked (host-tools.md section 7, fault 32). Members that
 * nobody knows are passed over; null counts as absent for context, requirements, branch and cwd.
 * Integers may come as text, and a fraction is cut off, as the reference has it.
 *
 * Each function gives true, or false with one sentence for the client in *why. Slices point into
 * the document's text.
 */
#ifndef FRONT_SESSION_BODY_H
#define FRONT_SESSION_BODY_H

#include "json/json.h"

struct create_body {
	struct slice type;
	int64_t minutes;
	int context, env; /* tokens of objects, -1: none; nothing in them was touched yet */
	struct slice owner, repo, branch; /* repo empty: none is wanted */
};

struct exec_body {
	struct slice command;
	int64_t seconds;
	struct slice cwd; /* empty: the default */
};

bool session_body_create(struct json *d, struct create_body *b, struct buf *why);
bool session_body_exec(struct json *d, struct exec_body *b, struct buf *why);
/* An empty body has no tokens (d->n == 0). */
bool session_body_extend(struct json *d, int64_t *minutes, struct buf *why);

#endif
