/*
 * The repository a session begins with: a shallow clone from github.com into its workspace.
 */
#ifndef FRONT_SESSION_CLONE_H
#define FRONT_SESSION_CLONE_H

#include "front/session_body.h"
#include "host/git_run.h"
#include "loop/worker.h"

/* Begins the state of a job. */
struct session_clone {
	struct git git;

	/* private */
	int err; /* -errno: git could not be started */
	struct worker worker;
	int keep[2];
	enum step (*next)(struct job *j);
};

/*
 * Clones into the directory `into`, which is empty and owned from then on, and goes on with next,
 * in any case within SESSION_CLONE_MS and the time a command has to end. A clone that failed leaves
 * the directory empty.
 */
enum step session_clone_run(
	struct job *j, int into, const struct create_body *b, enum step (*next)(struct job *j));
/* In next: the member clone_error, what git said, unless all went well. */
void session_clone_put_error(struct job *j);

#endif
