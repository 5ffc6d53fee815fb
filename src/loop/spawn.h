/*
 * Starting a program by vfork semantics (decision 20): no copy of our memory, whatever its size.
 */
#ifndef LOOP_SPAWN_H
#define LOOP_SPAWN_H

#include <sys/resource.h>
#include <sys/types.h>

struct spawn {
	const char *path; /* the program, absolute */
	const char *const *argv;
	char *const *env;
	int cwd;          /* directory descriptor (may be O_PATH); -1: where the server stands */
	int in, out, err; /* become 0, 1 and 2; out and err may be the same */
	rlim_t mark;      /* of proc_mark */
};

/* The pid, or -errno when the program could not be run; nothing is left to reap then. */
pid_t spawn_start(const struct spawn *s) __attribute__((warn_unused_result));

/* An empty standard input: /dev/null, or where there is none a pipe nobody writes. fd or -errno. */
int spawn_no_input(void) __attribute__((warn_unused_result));

/*
 * That of child_environment, with SANDSTORM_JOB=tag and the "NAME=value" texts of more (ended by
 * NULL, at most CHILD_ENV_MORE; NULL: none), which win; a "NAME" there takes that variable out.
 * Good until the next call. (environ.c)
 */
char *const *environ_for(const char *tag, const char *const *more);

#endif
