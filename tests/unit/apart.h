/*
 * A test in a process of its own: the loop runs once in a process, and what a test leaves behind is
 * found and ended. CHECK takes the place of cmocka's assertions there.
 */
#ifndef APART_H
#define APART_H

#include "unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "loop/proc.h"
#include "loop/worker.h"
#include "turn.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			child_end_all();                                                           \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static inline void apart_loop(void)
{
	extern char **environ;

	CHECK(loop_init() == 0);
	CHECK(proc_init() == 0);
	child_environment(environ);
}

static inline void apart(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(90);
		apart_loop();
		test();
		child_end_all();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* From now on the kernel is one that does not know system call nr: this process and its children
 * get `err`. */
static inline void apart_without(long nr, unsigned err)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rules) / sizeof(rules[0]), rules };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	CHECK(syscall(nr, -1, -1, -1, -1) == -1 && errno == (int)err);
}

/* Is pid there and no zombie? */
static inline bool alive(pid_t pid)
{
	char path[64], state[512] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(state, sizeof(state), f))
		state[0] = '\0';
	fclose(f);
	return state[0] != '\0' && strstr(state, ") Z") == NULL;
}

static inline bool gone_soon(pid_t pid)
{
	for (int i = 0; i < 2000 && alive(pid); i++)
		usleep(10000);
	return !alive(pid);
}

/* Waits for something to come true, with the loop turning. */
#define AWAIT(what) RUN_UNTIL(what, CHECK)

/* Does this process have children, be it only to be reaped? */
static inline bool childless(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

#endif
