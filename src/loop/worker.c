#include "loop/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop/loop.h"

enum {
	FDS_LOOKED_AT = 65536, /* closed one by one: more than the server ever opens */
};

/* Kernels before 5.9 have no close_range. */
static void close_span(unsigned first, unsigned last)
{
	struct rlimit limit;

	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) < 0 || limit.rlim_cur > FDS_LOOKED_AT)
		limit.rlim_cur = FDS_LOOKED_AT;
	for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++)
		close((int)fd);
}

/* The lowest descriptor from `from` on that stays open, UINT_MAX when there is none. */
static unsigned next_kept(const struct worker *w, unsigned from)
{
	unsigned best = (unsigned)w->pipe >= from ? (unsigned)w->pipe : UINT_MAX;

	for (const int *fd = w->keep; fd && *fd >= 0; fd++)
		if ((unsigned)*fd >= from && (unsigned)*fd < best)
			best = (unsigned)*fd;
	return best;
}

static void close_others(const struct worker *w)
{
	unsigned from = 0, kept;

	while ((kept = next_kept(w, from)) != UINT_MAX) {
		if (kept > from)
			close_span(from, kept - 1);
		from = kept + 1;
	}
	close_span(from, INT_MAX);
}

/* In the copy. The server may have died before the kernel knew that we want to follow it. */
_Noreturn static void worker_main(struct worker *w, pid_t server)
{
	struct outcome o = { 0, 0 };
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != server)
		_exit(1);
	close_others(w);
	proc_plug_streams();
	w->work(w, &o);
	do
		n = write(w->pipe, &o, sizeof(o));
	while (n < 0 && errno == EINTR);
	_exit(0);
}

/* A whole outcome is in the pipe or none: it is below PIPE_BUF and was written at once. */
static void worker_ended(struct proc *p)
{
	struct worker *w = container_of(p, struct worker, proc);

	if (read(w->pipe, &w->outcome, sizeof(w->outcome)) != sizeof(w->outcome))
		w->outcome = (struct outcome){ -ECANCELED, 0 };
	close(w->pipe);
	w->pipe = -1;
	w->done(w);
}

int worker_start(struct worker *w)
{
	pid_t server = getpid(), pid;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	w->pipe = ends[1];
	pid = _Fork(); /* fork() would bring the locks of threads along */
	if (pid == 0)
		worker_main(w, server);
	r = pid < 0 ? -errno : 0;
	close(ends[1]);
	w->pipe = ends[0];
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	proc_add(&w->proc, pid, worker_ended);
	return 0;
}

void worker_end(struct worker *w)
{
	if (w->proc.running)
		kill(w->proc.pid, SIGKILL);
}

void worker_drop(struct worker *w)
{
	worker_end(w);
	proc_forget(&w->proc);
	close(w->pipe);
	w->pipe = -1;
}
