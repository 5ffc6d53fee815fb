/*
 * The environment of children, and finding programs along its PATH.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"
#include "loop/child.h"
#include "loop/spawn.h"

static const struct slice job_name = { "SANDSTORM_JOB=", sizeof "SANDSTORM_JOB=" - 1 };
static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static char job_variable[sizeof "SANDSTORM_JOB=" + PROC_TAG_LEN];
static char *variables[CHILD_ENV_MAX + 1]; /* what all children get, NULL last */
static char *made[1 + CHILD_ENV_MORE + CHILD_ENV_MAX + 1];

void child_environment(char *const *env)
{
	size_t n = 0;

	for (; *env && n < CHILD_ENV_MAX; env++)
		if (!str_starts(slice_of(*env), job_name.p))
			variables[n++] = *env;
	variables[n] = NULL;
}

/* Do "A=..." and "B=..." or "B" name the same variable? */
static bool same_name(const char *a, const char *b)
{
	while (*a && *a != '=' && *a == *b)
		a++, b++;
	return *a == '=' && (*b == '=' || *b == '\0');
}

static bool is_among(const char *variable, const char *const *more)
{
	for (; more && *more; more++)
		if (same_name(variable, *more))
			return true;
	return false;
}

char *const *environ_for(const char *tag, const char *const *more)
{
	size_t n = 0;

	memcpy(job_variable, job_name.p, job_name.n);
	memcpy(job_variable + job_name.n, tag, PROC_TAG_LEN + 1);
	made[n++] = job_variable;
	for (const char *const *m = more; m && *m && n <= CHILD_ENV_MORE; m++)
		if (strchr(*m, '='))
			made[n++] = (char *)*m; /* execve does not write to it */
	for (char *const *v = variables; *v; v++)
		if (!is_among(*v, more))
			made[n++] = *v;
	made[n] = NULL;
	return made;
}

const char *child_variable(const char *name)
{
	for (char *const *v = variables; *v; v++)
		if (same_name(*v, name))
			return *v + strlen(name) + 1;
	return NULL;
}

static struct slice search_path(void)
{
	const char *path = child_variable("PATH");

	return slice_of(path ? path : default_path);
}

static int runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

/* dir/name as a C string in mem, and whether it can be run. Only absolute directories count. */
static int found_in(struct slice dir, const char *name, char *mem, size_t size)
{
	struct buf b;

	if (dir.n == 0 || dir.p[0] != '/')
		return -ENOENT;
	buf_over(&b, mem, size);
	buf_slice(&b, dir);
	buf_putc(&b, '/');
	buf_put(&b, name, strlen(name) + 1);
	return b.failed ? -ENOENT : runnable(mem);
}

int child_find(const char *name, char *mem, size_t size)
{
	struct slice rest = search_path();
	int r = -ENOENT;

	if (name[0] == '/') {
		r = str_c(slice_of(name), mem, size);
		return r < 0 ? r : runnable(mem);
	}
	while (rest.n > 0) {
		int found = found_in(str_split(&rest, ':'), name, mem, size);

		if (found == 0)
			return 0;
		if (found == -EACCES)
			r = found;
	}
	return r;
}
