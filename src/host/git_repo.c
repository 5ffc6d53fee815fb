#include "host/git_repo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/str.h"
#include "host/git_ref.h"
#include "host/git_url.h"
#include "host/root.h"

/* base/given, or given where it is absolute, with end behind it. */
static struct slice joined(struct buf *b, const char *base, struct slice given, const char *end)
{
	if (!str_starts(given, "/")) {
		buf_puts(b, base);
		buf_putc(b, '/');
	}
	buf_slice(b, given);
	buf_puts(b, end);
	return buf_all(b);
}

/* 0 when base/given is there, -ENOENT, or what path_find says of it. */
static int find(struct place *p, const char *base, struct slice given, const char *end)
{
	char mem[2 * PATH_MAX];
	struct buf b;
	struct slice path;
	struct stat st;
	int r;

	*p = (struct place){ .dir = -1 };
	buf_over(&b, mem, sizeof(mem));
	path = joined(&b, base, given, end);
	r = b.failed ? -ENAMETOOLONG : path_find(p, path, PATH_FOLLOW);
	if (r == 0 && fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	place_close(p);
	return r;
}

/*
 * base/given, or what git takes for it when it is not there: none of them may lead out of the root.
 * p is the place of given itself. 0, -ENOENT when there is nothing, -EXDEV, or what path_find says.
 */
static int look(struct place *p, const char *base, struct slice given)
{
	static const char *const ends[] = { "/.git", ".git", ".git/.git", ".bundle" };
	struct place other;
	int r = find(p, base, given, ""), found;

	for (size_t i = 0; r != -EXDEV && i < sizeof(ends) / sizeof(*ends); i++) {
		found = find(&other, base, given, ends[i]);
		if (found == -EXDEV || (found == 0 && r == -ENOENT))
			r = found;
	}
	return r;
}

/* git takes for a path whatever there is under that name, or one it makes of it, URL or not. */
static bool is_also_path(const char *base, struct slice url)
{
	struct place p;
	int r = look(&p, base, str_split(&url, '/'));

	return r == 0 || r == -EXDEV;
}

static bool is_root(struct place *p, struct slice path)
{
	return find(p, "", path, "") == 0 && !*root_below(p->shown);
}

/* a with b behind it, in the job's memory; no bytes where there is none. */
static struct slice together(struct job *j, struct slice a, const char *b)
{
	size_t n = strlen(b);
	char *mem = buf_alloc(&j->mem, a.n + n + 1);

	if (!mem)
		return (struct slice){ 0 };
	memcpy(mem, a.p, a.n);
	memcpy(mem + a.n, b, n);
	return (struct slice){ mem, a.n + n };
}

/*
 * The word leads git to the absolute path: what it may take that for is looked at. The root has a
 * "." behind it, or git would also look for "root.git" beside it.
 */
static bool take(
	struct job *j, struct slice given, struct slice path, bool must_exist, struct slice *word)
{
	const char *end = "";
	struct place p;
	int r = look(&p, "", path);

	if (r == -EXDEV && is_root(&p, path)) {
		end = "/.";
		r = look(&p, "", together(j, path, end));
	}
	if (r < 0 && (must_exist || r != -ENOENT)) {
		path_fail(j, &p, given, r);
		return false;
	}
	*word = together(j, *word, end);
	if (!word->p)
		tool_fail(j, "no memory for the command: the server's budget is used up");
	return word->p;
}

/* The normal absolute path: what git makes of ".." behind a link is not what we have looked at. Of
 * what is missing git tells. */
static bool take_path(struct job *j, struct slice given, struct slice *word)
{
	const struct git *g = j->state;
	struct place p;
	int r = find(&p, g->place.shown, given, "");

	if (r < 0 && r != -ENOENT) {
		path_fail(j, &p, given, r);
		return false;
	}
	*word = slice_of(p.shown);
	return take(j, given, *word, false, word);
}

/* Slashes at the end mean nothing to git. */
static bool take_file_url(struct job *j, struct slice url, struct slice *word)
{
	char mem[PATH_MAX];
	struct slice given, path;

	if (!git_url_path(url, mem, sizeof(mem)))
		return false; /* git_url_rule has seen it */
	given = path = slice_of(mem);
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	*word = url;
	return take(j, given, path, true, word);
}

static bool take_address(struct job *j, int which, struct slice url, struct slice *word)
{
	const struct git *g = j->state;
	enum git_place place;
	const char *rule = git_url_rule(url, &place);

	if (!rule && place != GIT_PATH && is_also_path(g->place.shown, url))
		rule = "must not begin with what is also a file or directory here";
	if (rule) {
		git_refuse(j, which, rule);
		return false;
	}
	*word = url;
	if (place == GIT_PATH)
		return take_path(j, url, word);
	return place == GIT_HOST || take_file_url(j, url, word);
}

bool git_repo_word(struct job *j, int which, struct slice *word)
{
	return take_address(j, which, arg_str(j, which), word);
}

/*
 * A name that is no remote is a path for git, from the top of the work tree on, which is the
 * directory of the call or lies above it.
 */
static bool name_leads_out(const struct git *g, struct slice name)
{
	char dir[PATH_MAX];
	const char *below;
	struct place p;

	memcpy(dir, g->place.shown, strlen(g->place.shown) + 1);
	for (;;) {
		if (look(&p, dir, name) == -EXDEV)
			return true;
		below = root_below(dir);
		if (!below || !*below)
			return false;
		*strrchr(dir, '/') = '\0';
	}
}

bool git_remote_word(struct job *j, int which, struct slice *word)
{
	struct slice given = arg_given(j, which) ? arg_str(j, which) : LIT("origin");

	if (git_refspec_rule(given) != NULL)
		return take_address(j, which, given, word);
	if (name_leads_out(j->state, given)) {
		struct place p = { .shown = "" };

		path_fail(j, &p, given, -EXDEV);
		return false;
	}
	*word = given;
	return true;
}
