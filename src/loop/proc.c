#include "loop/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"

static struct proc *procs; /* started by us and not reaped yet */
static struct watch child_signal;

void proc_add(struct proc *p, pid_t pid, void (*ended)(struct proc *p))
{
	*p = (struct proc){ .pid = pid, .running = true, .ended = ended, .next = procs };
	procs = p;
}

void proc_forget(struct proc *p)
{
	for (struct proc **at = &procs; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			return;
		}
	}
}

static struct proc *proc_of(pid_t pid)
{
	struct proc *p = procs;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

/* A pid that is not in the list: an orphan that came to us as subreaper, or a forgotten process. */
static void proc_reaped(pid_t pid, int status)
{
	struct proc *p = proc_of(pid);

	if (!p)
		return;
	proc_forget(p);
	p->running = false;
	p->status = status;
	if (p->ended)
		p->ended(p);
}

/* One signal may stand for many children; it is taken before looking, so that none is missed. */
static void children_changed(struct watch *w, unsigned events)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		proc_reaped(pid, status);
}

int proc_init(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t set;
	int fd;

	/* Ignored by who started us: then the kernel would reap, and no status would ever come. */
	sigaction(SIGCHLD, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	/* Kernels before 3.4 refuse: orphans then go to pid 1 and are still found by their tag. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	child_signal.ready = children_changed;
	return watch_add(&child_signal, fd, LOOP_READ);
}

void proc_plug_streams(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
