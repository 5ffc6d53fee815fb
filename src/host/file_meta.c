#include "host/file_meta.h"

#include <errno.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/random.h"

enum {
	PERMISSIONS = 0777,
	SET_ID = 06000,
	NAME_BYTES = 8, /* random bytes in a temporary name */
};

/* Attributes that speak of the bytes of a file, or give it rights over the system: a new file must
 * earn them anew. */
static bool stays_behind(const char *name)
{
	return strcmp(name, "security.capability") == 0 || strcmp(name, "security.ima") == 0 ||
	       strcmp(name, "security.evm") == 0;
}

static void xattr_copy(int from, int to, const char *name, struct buf *mem)
{
	ssize_t n = fgetxattr(from, name, NULL, 0);
	size_t mark = mem->len;
	void *value;

	if (n < 0)
		return;
	value = buf_alloc(mem, (size_t)n + 1);
	if (value)
		n = fgetxattr(from, name, value, (size_t)n);
	if (value && n >= 0)
		(void)fsetxattr(to, name, value, (size_t)n, 0);
	buf_cut(mem, mark);
}

static void xattrs_copy(int from, int to, struct buf *mem)
{
	ssize_t n = flistxattr(from, NULL, 0);
	size_t mark = mem->len, at;
	char *names;

	if (n <= 0)
		return;
	names = buf_alloc(mem, (size_t)n + 1);
	if (names)
		n = flistxattr(from, names, (size_t)n);
	for (at = 0; names && n > 0 && at < (size_t)n; at += strlen(names + at) + 1)
		if (!stays_behind(names + at))
			xattr_copy(from, to, names + at, mem);
	buf_cut(mem, mark);
}

/* Owner and group, or the group alone. Gives which permission bits may follow. */
static mode_t owner_copy(const struct stat *st, int to, unsigned how)
{
	mode_t mode = st->st_mode & PERMISSIONS;

	if (fchown(to, st->st_uid, st->st_gid) == 0)
		return how & META_SET_ID ? st->st_mode & (PERMISSIONS | SET_ID) : mode;
	if (fchown(to, (uid_t)-1, st->st_gid) == 0)
		return mode;
	return (mode & ~070u) | (mode & 07u & mode >> 3) << 3;
}

int meta_copy(int from, const struct stat *st, int to, unsigned how, struct buf *mem)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (fchmod(to, owner_copy(st, to, how)) < 0)
		return -errno;
	xattrs_copy(from, to, mem);
	if (how & META_TIMES)
		(void)futimens(to, times);
	return 0;
}

void file_tmp_name(char name[FILE_TMP_NAME])
{
	char hex[2 * NAME_BYTES + 1];

	random_hex(hex, NAME_BYTES);
	str_printf(name, FILE_TMP_NAME, ".sandstorm-%s.tmp", hex);
}
