#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "host/file_drop.h"
#include "host/host.h"
#include "host/path.h"

enum { A_PATH };

// clang-format off
static const struct arg file_delete_args[] = {
	[A_PATH] = { "path", ARG_STR, ARG_REQUIRED, "File or link to delete: absolute below the workspace root, or relative to it", NULL },
	{ 0 },
};

static const struct arg file_mkdir_args[] = {
	[A_PATH] = { "path", ARG_STR, ARG_REQUIRED, "Directory to make: absolute below the workspace root, or relative to it", NULL },
	{ 0 },
};
// clang-format on

struct delete_state {
	struct place at;
	int held; /* a large file without a name, -1: none */
	struct file_drop drop;
};

static void delete_cleanup(struct job *j)
{
	struct delete_state *s = j->state;

	file_close(&s->held);
	place_close(&s->at);
}

static enum step delete_said(struct job *j)
{
	struct delete_state *s = j->state;

	return tool_printf(j, "Deleted %s", s->at.shown);
}

static int delete_name(struct delete_state *s)
{
	struct stat st;

	if (fstatat(s->at.dir, s->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	s->held = file_drop_hold(s->at.dir, s->at.name);
	return unlinkat(s->at.dir, s->at.name, 0) < 0 ? -errno : 0;
}

static enum step file_delete(struct job *j)
{
	struct delete_state *s = job_state(j, sizeof(*s));
	int r;

	if (!s)
		return tool_fail(j, "Error: not enough memory");
	s->held = s->at.dir = -1;
	j->cleanup = delete_cleanup;
	r = path_find(&s->at, arg_str(j, A_PATH), 0);
	if (r == 0)
		r = delete_name(s);
	if (r < 0 && r != -ENOENT) /* what does not exist is deleted */
		return path_fail(j, &s->at, arg_str(j, A_PATH), r);
	return file_drop(j, &s->drop, &s->held, delete_said);
}

static int make_dir(const struct place *p)
{
	struct stat st;

	if (mkdirat(p->dir, p->name, 0777) == 0)
		return 0;
	if (errno != EEXIST || fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
}

static enum step file_mkdir(struct job *j)
{
	struct place at;
	enum step step;
	int r = path_find(&at, arg_str(j, A_PATH), PATH_FOLLOW | PATH_PARENTS);

	if (r == 0)
		r = make_dir(&at);
	if (r < 0)
		step = path_fail(j, &at, arg_str(j, A_PATH), r);
	else
		step = tool_printf(j, "Created directory %s", at.shown);
	place_close(&at);
	return step;
}

// clang-format off
const struct tool file_tools[] = {
	{ "file_read", "Read file",
	  "Read a text file. Files over the output limit need a range: offset (first line) and limit (lines).",
	  file_read_args, TOOL_READS | TOOL_IDEMPOTENT, file_read },
	{ "file_write", "Write file",
	  "Write a whole file, replacing what is there; missing parent directories are made. Mode and owner stay.",
	  file_write_args, TOOL_DESTROYS | TOOL_IDEMPOTENT, file_write },
	{ "file_delete", "Delete file",
	  "Delete a file or a symbolic link (not its target). Directories are refused; a missing file is no error.",
	  file_delete_args, TOOL_DESTROYS | TOOL_IDEMPOTENT, file_delete },
	{ "file_list", "List directory",
	  "List a directory like `ls -la` (UTC times), or recursively. Control bytes, backslashes and invalid UTF-8 in"
	  " names are escaped (\\n, \\\\, \\xff); paths are taken in that form too.",
	  file_list_args, TOOL_READS | TOOL_IDEMPOTENT, file_list },
	{ "file_move", "Move or rename",
	  "Move or rename a file or directory. An existing file at the destination is replaced; into an existing"
	  " directory the source keeps its name. Missing parent directories are made.",
	  file_move_args, TOOL_DESTROYS, file_move },
	{ "file_mkdir", "Make directory",
	  "Make a directory with its missing parents. One that exists already is no error.",
	  file_mkdir_args, TOOL_IDEMPOTENT, file_mkdir },
	{ 0 },
};
// clang-format on
