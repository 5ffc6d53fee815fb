#include "host/dirs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int dirs_make(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, i == n ? mode : 0777) < 0 && errno != EEXIST && errno != EISDIR &&
			i == n)
			return -errno;
		part[i] = path[i];
	}
	return 0;
}

/* What is missing at the end of the path is cut off. */
static void cut_to_existing(char *path)
{
	struct stat st;
	char *slash;

	while (stat(path, &st) < 0 && errno == ENOENT && (slash = strrchr(path, '/')) &&
		slash > path)
		*slash = '\0';
}

int dirs_usable(const char *path)
{
	char there[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;

	if (n >= sizeof(there))
		return -ENAMETOOLONG;
	memcpy(there, path, n + 1);
	cut_to_existing(there);
	if (stat(there, &st) == 0 && !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return access(there, W_OK | X_OK) == 0 ? 0 : -errno;
}

int dirs_working(char *mem, size_t size)
{
	if (syscall(SYS_getcwd, mem, size) < 0)
		return -errno;
	return mem[0] == '/' ? 0 : -ENOENT; /* "(unreachable)/..." */
}
