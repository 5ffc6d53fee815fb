#include "loop/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"
#include "loop/child.h"
#include "loop/loop.h"

/*
 * Between clone and exec the child runs in our memory, on a stack of its own, while we stand still:
 * it must not return, allocate, or change anything that we read later. What goes wrong is told
 * through a pipe that exec closes, because under qemu-user the child is a forked copy and nothing
 * it writes to memory would reach us (decision 42).
 */

enum {
	STACK_SIZE = 32 * KIB, /* the deepest path is below 2 KiB; sanitizers need more */
	FDS_LOOKED_AT = 65536, /* without close_range */
};

struct start {
	const struct spawn *s;
	pid_t server;
	int report; /* writing end of the pipe that exec closes */
};

static _Alignas(16) char stack[STACK_SIZE];
static struct rlimit descriptors;
static bool descriptors_saved;

void child_descriptors(const struct rlimit *original)
{
	descriptors = *original;
	descriptors_saved = true;
}

/*
 * Ours are close-on-exec from birth; those we were started with are made so here, once. close_range
 * knows the flag from Linux 5.11 on.
 */
static void seal_inherited(void)
{
	static bool sealed;
	struct rlimit limit;

	if (sealed)
		return;
	sealed = true;
	if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) < 0 || limit.rlim_cur > FDS_LOOKED_AT)
		limit.rlim_cur = FDS_LOOKED_AT;
	for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int spawn_no_input(void)
{
	int ends[2], fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	close(ends[1]);
	return ends[0];
}

/* Out of the way of 0 to 2, which we get when the server was started with some of them closed. */
static int lifted(int fd)
{
	return fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* 0 or errno. */
static int take_streams(const struct spawn *s)
{
	int in = lifted(s->in), out = lifted(s->out), err = lifted(s->err);

	if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		return errno;
	return 0;
}

/*
 * Killed without a chance to end its commands, the server at least takes those along that it has
 * started itself; with TERM, so that a runner such as npm can end what it runs. Kept by exec, but
 * not by that of a set-user-ID program.
 */
static int die_with(pid_t server)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	return getppid() == server ? 0 : ESRCH;
}

/* Only returns when the program could not be run: errno. */
static int become(const struct start *t)
{
	const struct spawn *s = t->s;
	int r = die_with(t->server);

	if (r != 0)
		return r;
	setsid();
	if (s->cwd >= 0 && fchdir(s->cwd) < 0)
		return errno;
	r = take_streams(s);
	if (r != 0)
		return r;
	if (descriptors_saved)
		prlimit(0, RLIMIT_NOFILE, &descriptors, NULL);
	proc_take_mark(s->mark);
	signals_restore();
	execve(s->path, (char *const *)s->argv, s->env);
	return errno;
}

static int child_side(void *arg)
{
	const struct start *t = arg;
	int report = lifted(t->report);
	int err = report < 0 ? errno : become(t);

	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	return 127;
}

/* The number that came through the pipe, 0 when exec closed it without a word. */
static int read_report(int fd)
{
	int err = 0;
	ssize_t n;

	do
		n = read(fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? err : 0;
}

/* No signal may find the child while it still runs in our memory; it empties its mask itself. */
static pid_t clone_quietly(struct start *t)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(child_side, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, t);
	if (pid < 0)
		pid = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

pid_t spawn_start(const struct spawn *s)
{
	int report[2], err;
	pid_t pid;

	seal_inherited();
	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	pid = clone_quietly(&(struct start){ s, getpid(), report[1] });
	close(report[1]);
	err = pid < 0 ? -pid : read_report(report[0]);
	close(report[0]);
	if (pid > 0 && err != 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	return err != 0 ? -err : pid;
}
