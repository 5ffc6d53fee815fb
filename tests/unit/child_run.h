/*
 * A command of a test, run by the loop to its end, with both of its streams.
 */
#ifndef CHILD_RUN_H
#define CHILD_RUN_H

#include "apart.h"
#include "bounds.h"

struct run {
	struct child c;
	struct capture out, err;
	int done; /* how often it was called */
	int64_t began, ended;
};

static char joined[2 * MIB];
static struct run *running; /* the one started last */
static const char *run_kin; /* of those to be started */

static inline void run_done(struct child *c)
{
	struct run *r = container_of(c, struct run, c);

	r->done++;
	r->ended = clock_ms();
	loop_stop(0);
}

static inline int run_start(struct run *r, const char *const *argv, int64_t limit_ms)
{
	*r = (struct run){ .began = loop_now() };
	CHECK(capture_open(&r->out, 64 * KIB) == 0);
	CHECK(capture_open(&r->err, 64 * KIB) == 0);
	r->c.path = argv[0];
	r->c.argv = argv;
	r->c.cwd = -1;
	r->c.kin = run_kin;
	r->c.limit_ms = limit_ms;
	r->c.out = &r->out;
	r->c.err = &r->err;
	r->c.done = run_done;
	running = r;
	return child_start(&r->c);
}

static inline void run_shell(struct run *r, const char *command, int64_t limit_ms)
{
	const char *argv[] = { "/bin/sh", "-c", command, NULL };

	CHECK(run_start(r, argv, limit_ms) == 0);
	CHECK(child_count() == 1);
	CHECK(r->done == 0);
	loop_run();
	CHECK(r->done == 1);
	CHECK(child_count() == 0);
}

static inline const char *text_of(const struct capture *c)
{
	struct slice parts[3];
	size_t n = 0;

	capture_parts(c, parts);
	for (int i = 0; i < 3; i++) {
		memcpy(joined + n, parts[i].p, parts[i].n);
		n += parts[i].n;
	}
	joined[n] = '\0';
	return joined;
}

static inline bool output_is(const struct run *r, const char *text)
{
	return strcmp(text_of(&r->out), text) == 0;
}

/* The number a command printed. */
static inline pid_t printed_pid(const struct run *r)
{
	pid_t pid = (pid_t)atoi(text_of(&r->out));

	CHECK(pid > 1);
	return pid;
}

static inline int64_t took(const struct run *r)
{
	return r->ended - r->began;
}

#endif
