#include "host/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "host/host.h"
#include "host/path_text.h"
#include "host/root.h"
#include "bounds.h"

enum { GIVEN_SHOWN = 2048 }; /* bytes of an over-long path in an error text */

/*
 * A walk stands on a directory and has text still to go. Only what openat(O_PATH | O_NOFOLLOW) of
 * one name gives is ever stepped on, so nothing outside the root can be reached, whatever others
 * rename meanwhile.
 */
struct walk {
	const struct path_top *top;
	unsigned how;
	int fd;                      /* the directory reached, always our own descriptor */
	char at[PATH_MAX];           /* its path below the top, free of links: "" or "/a/b" */
	char rest[2 * PATH_MAX + 1]; /* the text still to go, at the end of the array */
	size_t pos;                  /* where it starts */
	size_t linked; /* names that start before this came from a link, not from the client */
	int links;
};

enum { WALK_ON = 0, WALK_THERE = 1 };

static size_t behind_slashes(const struct walk *w)
{
	size_t at = w->pos;

	while (w->rest[at] == '/')
		at++;
	return at;
}

static struct slice next_name(struct walk *w)
{
	struct slice s;

	w->pos = behind_slashes(w);
	s.p = w->rest + w->pos;
	s.n = (size_t)(strchrnul(s.p, '/') - s.p);
	w->pos += s.n;
	return s;
}

static bool is_last(const struct walk *w)
{
	return w->rest[behind_slashes(w)] == '\0';
}

static int open_dir_at(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void stand_on(struct walk *w, int fd)
{
	file_close(&w->fd);
	w->fd = fd;
}

/* What of an absolute path follows the top, as root_below. */
static const char *top_below(const struct path_top *top, const char *path)
{
	const char *rest = root_below(path);

	if (!rest || !top->below[0])
		return rest;
	return rest[0] ? path_strip(rest - 1, top->below) : NULL; /* a slash stands before rest */
}

/* From the top again to the first len bytes of at. */
static int walk_again(struct walk *w, size_t len)
{
	struct slice rest = { w->at, len }, part;
	char name[NAME_MAX + 1];
	int fd = open_dir_at(w->top->fd, ".");

	while (fd >= 0) {
		stand_on(w, fd);
		if (rest.n == 0)
			break;
		rest = slice_from(rest, 1);
		part = str_split(&rest, '/');
		fd = str_c(part, name, sizeof(name));
		if (fd == 0)
			fd = open_dir_at(w->fd, name);
		if (rest.n > 0)
			rest = (struct slice){ rest.p - 1, rest.n + 1 };
	}
	w->at[len] = '\0';
	return fd < 0 ? fd : 0;
}

static size_t parent_len(const struct walk *w)
{
	return (size_t)(strrchr(w->at, '/') - w->at);
}

/* ".." occurs in link targets only. At the top it leads outside, unless that is the machine's root.
 */
static int walk_up(struct walk *w)
{
	if (w->at[0])
		return walk_again(w, parent_len(w));
	return !w->top->below[0] && strcmp(root_path(), "/") == 0 ? WALK_ON : -EXDEV;
}

static int walk_down(struct walk *w, int fd, const char *name)
{
	size_t len = strlen(w->at), n = strlen(name);

	if (len + 1 + n >= sizeof(w->at)) {
		close(fd);
		return -ENAMETOOLONG;
	}
	w->at[len] = '/';
	memcpy(w->at + len + 1, name, n + 1);
	stand_on(w, fd);
	return WALK_ON;
}

/* The link's text takes the place of its name. Absolute targets start again at the root, or are
 * refused. */
static int walk_link(struct walk *w, int link)
{
	ssize_t n = readlinkat(link, "", w->rest, w->pos);
	const char *text = w->rest;
	size_t len;
	int r = 0;

	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if ((size_t)n >= w->pos)
		return -ENAMETOOLONG;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	w->rest[n] = '\0';
	if (text[0] == '/') {
		text = top_below(w->top, text);
		r = text ? walk_again(w, 0) : -EXDEV;
	}
	if (r < 0)
		return r;
	len = strlen(text);
	if (w->linked < w->pos)
		w->linked = w->pos;
	w->pos -= len;
	memmove(w->rest + w->pos, text, len);
	return WALK_ON;
}

/*
 * Opens what the name at the front stands for, literally or, for a name the client wrote, unescaped
 * if only that exists. O_PATH descriptor or -errno; on -ENOENT too, name is what would have to be
 * made.
 */
static int look(const struct walk *w, struct slice s, char *name, size_t size)
{
	bool clients = (size_t)(s.p - w->rest) >= w->linked;
	int fd, r = str_c(s, name, size);
	char plain[NAME_MAX + 1];

	fd = r < 0 ? r : openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0 && fd < 0)
		r = -errno;
	if ((r != -ENOENT && r != -ENAMETOOLONG) || !clients ||
		!path_unescape(s, plain, sizeof(plain)))
		return r < 0 ? r : fd;
	fd = openat(w->fd, plain, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return r;
	memcpy(name, plain, sizeof(plain));
	return fd;
}

static int make_dir(const struct walk *w, const char *name)
{
	if (mkdirat(w->fd, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	return open_dir_at(w->fd, name);
}

/* The descriptor stood on becomes the place's. */
static int walk_there(struct walk *w, struct place *p, const char *name)
{
	memcpy(p->name, name, strlen(name) + 1);
	p->dir = w->fd;
	w->fd = -1;
	return WALK_THERE;
}

static int walk_name(struct walk *w, struct place *p, struct slice s)
{
	bool last = is_last(w), follow = !last || (w->how & PATH_FOLLOW);
	char name[NAME_MAX + 1];
	struct stat st;
	int r, fd = look(w, s, name, sizeof(name));

	if (fd == -ENOENT && last)
		return walk_there(w, p, name);
	if (fd == -ENOENT && (w->how & PATH_PARENTS))
		fd = make_dir(w, name);
	if (fd < 0)
		return fd;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && S_ISLNK(st.st_mode) && follow)
		r = walk_link(w, fd);
	else if (r == 0 && last)
		r = walk_there(w, p, name);
	else if (r == 0 && S_ISDIR(st.st_mode))
		return walk_down(w, fd, name);
	else if (r == 0)
		r = -ENOTDIR;
	close(fd);
	return r;
}

/* The text ended on a directory: the root, or what a link such as "sub/.." leads to. */
static int walk_end(struct walk *w, struct place *p)
{
	char name[NAME_MAX + 1];
	size_t len;
	int r;

	if (w->at[0] == '\0')
		return walk_there(w, p, ".");
	len = parent_len(w);
	r = str_c(slice_of(w->at + len + 1), name, sizeof(name));
	if (r == 0)
		r = walk_again(w, len);
	return r < 0 ? r : walk_there(w, p, name);
}

static int walk(struct walk *w, struct place *p)
{
	struct slice s;
	int r = walk_again(w, 0);

	while (r == WALK_ON) {
		s = next_name(w);
		if (s.n == 0)
			r = walk_end(w, p);
		else if (slice_is(s, ".."))
			r = walk_up(w);
		else if (!slice_is(s, "."))
			r = walk_name(w, p, s);
	}
	return r;
}

static int find(const struct path_top *top, const char *base, struct place *p, struct slice given,
	unsigned how)
{
	struct walk w = { .top = top, .how = how, .fd = -1 };
	const char *below;
	size_t n;
	int r;

	p->dir = -1;
	p->name[0] = '\0';
	r = path_normal(base, given, p->shown, sizeof(p->shown));
	if (r < 0)
		return r;
	below = top_below(top, p->shown);
	if (!below)
		return -EXDEV;
	n = strlen(below);
	w.pos = sizeof(w.rest) - 1 - n;
	memcpy(w.rest + w.pos, below, n);
	r = walk(&w, p);
	file_close(&w.fd);
	return r < 0 ? r : 0;
}

int path_find(struct place *p, struct slice given, unsigned how)
{
	const struct path_top root = { root_fd(), "" };

	return find(&root, root_path(), p, given, how);
}

void place_close(struct place *p)
{
	file_close(&p->dir);
}

int path_open_dir_within(const struct path_top *top, const char *base, struct place *p,
	struct slice given, bool make)
{
	int r = find(top, base, p, given, PATH_FOLLOW | (make ? PATH_PARENTS : 0));

	if (r == 0 && make && mkdirat(p->dir, p->name, 0777) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		r = open_dir_at(p->dir, p->name);
	place_close(p);
	return r;
}

int path_open_dir(struct place *p, struct slice given, bool make)
{
	const struct path_top root = { root_fd(), "" };

	return path_open_dir_within(&root, root_path(), p, given, make);
}

enum step path_fail(struct job *j, const struct place *p, struct slice given, int err)
{
	const char *more = given.n > GIVEN_SHOWN ? "..." : "";

	given = slice_head(given, GIVEN_SHOWN);
	if (err == -EXDEV)
		return tool_fail(j, "Path \"%.*s%s\" is outside the allowed directory (%s)",
			SLICE(given), more, host_root());
	if (!p->shown[0])
		return tool_fail(j, "Error: %.*s%s: %s", SLICE(given), more, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		return tool_fail(j, "Error: [Errno %d] %s: '%s'", -err, strerror(-err), p->shown);
	return tool_fail(j, "Error: %s: %s", p->shown,
		err == -EMEDIUMTYPE ? "Not a regular file" : strerror(-err));
}
