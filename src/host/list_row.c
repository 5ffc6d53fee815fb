#include "host/list_row.h"

#include <sys/sysmacros.h>

#include "base/clock.h"

enum {
	HALF_YEAR = 31556952 / 2, /* seconds; what ls calls recent */
	NUMBER_MAX = 48,
};

/* A number or two as text, for measuring and for putting. */
struct number {
	char mem[NUMBER_MAX];
	size_t n;
};

static struct number links_text(const struct stat *st)
{
	struct number t;
	struct buf b;

	buf_over(&b, t.mem, sizeof(t.mem));
	buf_printf(&b, "%llu", (unsigned long long)st->st_nlink);
	t.n = b.len;
	return t;
}

/* Devices have no size but a major and a minor number. */
static struct number size_text(const struct stat *st)
{
	struct number t;
	struct buf b;

	buf_over(&b, t.mem, sizeof(t.mem));
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		buf_printf(&b, "%u, %u", major(st->st_rdev), minor(st->st_rdev));
	else
		buf_printf(&b, "%lld", (long long)st->st_size);
	t.n = b.len;
	return t;
}

static void widen(size_t *width, size_t n)
{
	if (*width < n)
		*width = n;
}

void row_measure(struct row_form *f, const struct stat *st)
{
	widen(&f->links, links_text(st).n);
	widen(&f->user, strlen(owner_name(&f->owners, false, st->st_uid)->name));
	widen(&f->group, strlen(owner_name(&f->owners, true, st->st_gid)->name));
	widen(&f->size, size_text(st).n);
}

static char type_letter(mode_t mode)
{
	static const struct {
		mode_t type;
		char letter;
	} types[] = {
		{ S_IFDIR, 'd' },
		{ S_IFLNK, 'l' },
		{ S_IFIFO, 'p' },
		{ S_IFSOCK, 's' },
		{ S_IFCHR, 'c' },
		{ S_IFBLK, 'b' },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].letter;
	return '-';
}

/* The letter for execution also tells set-user-id, set-group-id and sticky. */
static char x_letter(mode_t mode, mode_t x, mode_t special, char letter)
{
	if (mode & special)
		return mode & x ? letter : (char)(letter - 'a' + 'A');
	return mode & x ? 'x' : '-';
}

static void put_mode(struct buf *b, mode_t mode)
{
	buf_putc(b, type_letter(mode));
	buf_putc(b, mode & S_IRUSR ? 'r' : '-');
	buf_putc(b, mode & S_IWUSR ? 'w' : '-');
	buf_putc(b, x_letter(mode, S_IXUSR, S_ISUID, 's'));
	buf_putc(b, mode & S_IRGRP ? 'r' : '-');
	buf_putc(b, mode & S_IWGRP ? 'w' : '-');
	buf_putc(b, x_letter(mode, S_IXGRP, S_ISGID, 's'));
	buf_putc(b, mode & S_IROTH ? 'r' : '-');
	buf_putc(b, mode & S_IWOTH ? 'w' : '-');
	buf_putc(b, x_letter(mode, S_IXOTH, S_ISVTX, 't'));
}

static void put_blanks(struct buf *b, size_t width, size_t n)
{
	for (; n < width; n++)
		buf_putc(b, ' ');
}

static void put_right(struct buf *b, size_t width, struct slice text)
{
	buf_putc(b, ' ');
	put_blanks(b, width, text.n);
	buf_slice(b, text);
}

/* Names to the left, numbers to the right. */
static void put_owner(struct buf *b, size_t width, const struct owner_name *o)
{
	if (o->number) {
		put_right(b, width, slice_of(o->name));
		return;
	}
	buf_putc(b, ' ');
	buf_puts(b, o->name);
	put_blanks(b, width, strlen(o->name));
}

static void put_time(struct buf *b, int64_t at, int64_t now)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct utc u;

	utc_from(&u, at);
	buf_printf(b, " %.*s %2d ", 3, months + 3 * (u.month - 1), u.day);
	if (at <= now && at > now - HALF_YEAR)
		buf_printf(b, "%02d:%02d ", u.hour, u.minute);
	else
		buf_printf(b, "%5d ", u.year);
}

void row_put(struct row_form *f, struct buf *b, const struct stat *st)
{
	struct number links = links_text(st), size = size_text(st);

	put_mode(b, st->st_mode);
	put_right(b, f->links, (struct slice){ links.mem, links.n });
	put_owner(b, f->user, owner_name(&f->owners, false, st->st_uid));
	put_owner(b, f->group, owner_name(&f->owners, true, st->st_gid));
	put_right(b, f->size, (struct slice){ size.mem, size.n });
	put_time(b, st->st_mtim.tv_sec, f->now);
}
