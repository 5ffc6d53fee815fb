/*
 * Finding the descendants of a command wherever they went: by the variable in their environment, or
 * by a resource limit (decision 43). What gets rid of both and leaves the group is not found.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "loop/proc.h"

/* What the kernel writes for getdents64(2); libc's struct dirent differs by target. */
struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

/* Looks for `name` + `value` at the start of a NUL-ended variable, in bytes that come in parts. */
struct finder {
	struct slice name, value;
	size_t at; /* bytes matched so far; NOT_HERE: skipping to the next variable */
};

static const size_t NOT_HERE = SIZE_MAX;

static char wanted(const struct finder *f)
{
	return f->at < f->name.n ? f->name.p[f->at] : f->value.p[f->at - f->name.n];
}

static bool finder_feed(struct finder *f, struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\0') {
			f->at = 0;
			continue;
		}
		if (f->at == NOT_HERE)
			continue;
		if (s.p[i] != wanted(f))
			f->at = NOT_HERE;
		else if (++f->at == f->name.n + f->value.n)
			return true;
	}
	return false;
}

/* proc: descriptor of the process's directory. */
static bool has_variable(int proc, const char *tag)
{
	static char part[4096];
	struct finder f = { LIT("SANDSTORM_JOB="), slice_of(tag), 0 };
	int fd = openat(proc, "environ", O_RDONLY | O_CLOEXEC);
	bool found = false;
	ssize_t n;

	if (fd < 0)
		return false;
	while (!found && (n = read(fd, part, sizeof(part))) > 0)
		found = finder_feed(&f, (struct slice){ part, (size_t)n });
	close(fd);
	return found;
}

/* ---- the mark ---- */

enum { MARK_HALF = 31 }; /* bits of either half of a tag */

static const rlim_t MARK = (rlim_t)1 << 2 * MARK_HALF;

/* In 32 bits nothing of it would be left, and every process of the machine would match. */
_Static_assert(sizeof(rlim_t) == 8, "RLIMIT_RTTIME holds a mark");

static rlim_t half_mark(const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	rlim_t v = 0;

	for (int i = 0; i < 8 && hex[i]; i++)
		v = v << 4 | (rlim_t)(strchr(digits, hex[i]) - digits);
	return v >> (32 - MARK_HALF);
}

rlim_t proc_mark(const char *tag)
{
	rlim_t server = half_mark(tag), command = 0;

	if (strlen(tag) == PROC_TAG_LEN)
		command = half_mark(tag + PROC_TAG_HALF + PROC_KIN_LEN);
	return MARK | server << MARK_HALF | command;
}

/* A server above us has marked us as its own; what we start is ours. */
void proc_take_mark(rlim_t mark)
{
	struct rlimit l;

	if (prlimit(0, RLIMIT_RTTIME, NULL, &l) < 0 || l.rlim_cur < MARK || l.rlim_max < mark)
		return;
	l.rlim_cur = mark;
	prlimit(0, RLIMIT_RTTIME, &l, NULL);
}

static bool has_mark(pid_t pid, const char *tag)
{
	rlim_t wanted = proc_mark(tag);
	size_t len = strlen(tag);
	struct rlimit l;

	if (len == PROC_TAG_HALF + PROC_KIN_LEN || prlimit(pid, RLIMIT_RTTIME, NULL, &l) < 0)
		return false;
	if (len == PROC_TAG_LEN)
		return l.rlim_cur == wanted;
	return l.rlim_cur >> MARK_HALF == wanted >> MARK_HALF;
}

/* One that nobody has reaped yet still has its limits, but no environment. */
static bool is_zombie(int proc)
{
	int fd = openat(proc, "stat", O_RDONLY | O_CLOEXEC);
	char text[256];
	const char *end;
	ssize_t n;

	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text));
	close(fd);
	end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;
	return !end || end + 2 >= text + n || end[2] == 'Z' || end[2] == 'X';
}

static bool has_tag(int proc, pid_t pid, const char *tag)
{
	return has_mark(pid, tag) ? !is_zombie(proc) : has_variable(proc, tag);
}

/* ---- signalling ---- */

/*
 * True when the process was there to be signalled. The pidfd pins it before the second look
 * decides. Old kernels say ENOSYS to pidfd_open, old container filters EPERM: then the number has
 * to do.
 */
static bool signal_if_tagged(int proc, pid_t pid, const char *tag, int sig)
{
	long fd = syscall(SYS_pidfd_open, pid, 0), r = -1;

	if (fd < 0)
		return errno != ESRCH && has_tag(proc, pid, tag) && kill(pid, sig) == 0;
	if (has_tag(proc, pid, tag))
		r = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	close((int)fd);
	return r == 0;
}

static int look_at(int procfs, const char *name, const char *tag, int sig, pid_t group)
{
	int64_t pid;
	bool hit;
	int dir;

	if (str_int(slice_of(name), &pid) < 0 || pid <= 0 || pid == getpid())
		return 0;
	dir = openat(procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	hit = has_tag(dir, (pid_t)pid, tag) && (group == 0 || getpgid((pid_t)pid) != group) &&
	      signal_if_tagged(dir, (pid_t)pid, tag, sig);
	close(dir);
	return hit;
}

int proc_signal_tagged(const char *tag, int sig, pid_t group)
{
	static union {
		struct entry align;
		char bytes[8192];
	} list;
	int procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	long n;

	if (procfs < 0)
		return 0;
	while ((n = syscall(SYS_getdents64, procfs, list.bytes, sizeof(list.bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(list.bytes + at);

			count += look_at(procfs, e->name, tag, sig, group);
			at += e->reclen;
		}
	}
	close(procfs);
	return count;
}
