/*
 * Processes of ours: every child that ends is reaped here and nowhere else, also orphans (we are
 * their subreaper, or pid 1).
 */
#ifndef LOOP_PROC_H
#define LOOP_PROC_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	int status;   /* of waitpid, once ended */
	bool running; /* not reaped yet: only then may pid or its group be signalled */
	struct proc *next;
	void (*ended)(struct proc *p); /* in the loop, after the reaping; may be NULL */
};

/* Starts listening for SIGCHLD; makes this process the reaper of its descendants. 0 or -errno. */
int proc_init(void) __attribute__((warn_unused_result));
/* Takes note of a child just started. */
void proc_add(struct proc *p, pid_t pid, void (*ended)(struct proc *p));
/* The owner goes away before the child: the child is still reaped, nobody is told. */
void proc_forget(struct proc *p);

/*
 * What a command starts is known by the tag of the command, which it inherits twice: in its
 * environment as SANDSTORM_JOB, and as the soft RLIMIT_RTTIME, because env -i throws an environment
 * away. A tag has PROC_TAG_LEN hex digits; the first half is the same for all commands of this
 * server and stands for all of them. The next PROC_KIN_LEN digits may be the same for commands that
 * belong together; as such they are known by the environment alone. (descend.c)
 */
enum { PROC_TAG_LEN = 32, PROC_TAG_HALF = PROC_TAG_LEN / 2, PROC_KIN_LEN = PROC_TAG_HALF / 2 };

/*
 * The limit that a tag becomes: more than 2^62 microseconds of real-time scheduling, which limits
 * nothing. Kernels of 32 bits take it for unlimited: there the environment has to do.
 */
rlim_t proc_mark(const char *tag);
/* In the child, before exec: takes the mark, unless somebody really limits RLIMIT_RTTIME. */
void proc_take_mark(rlim_t mark);

/*
 * Signals every process that has the tag, or a tag that begins with it, found in /proc and
 * signalled through a pidfd after a second look (a kill by number where the kernel has no pidfd).
 * sig 0 only counts. Left out: this process itself, and the process group `group` (0: none), whose
 * members were signalled as a group. Gives how many were reached, 0 without /proc. A process that
 * is just between two programs (exec) may show nothing and be missed: who must be sure looks again
 * a little later. (descend.c)
 */
int proc_signal_tagged(const char *tag, int sig, pid_t group);

/*
 * Fills those of 0 to 2 that are closed with what can be neither read nor written: no file of ours
 * may become one of them and get what is meant for a stream.
 */
void proc_plug_streams(void);

#endif
