#include "host/owner_names.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"

enum {
	OWNER_LINE_MAX = 2 * KIB, /* longer lines (groups with very many members) are passed over */
	OWNER_FILE_MAX = 256 * KIB, /* as far as such a file is read: the loop waits meanwhile */
};

struct slice owner_in_line(struct slice line, uint32_t id)
{
	struct slice name = str_split(&line, ':'), number;
	int64_t n;

	(void)str_split(&line, ':');
	number = str_split(&line, ':');
	if (str_int(number, &n) < 0 || n != id)
		name.n = 0;
	return name;
}

/* Looks through the whole lines of b; what is left behind the last one stays. */
static bool find_in_lines(struct buf *b, uint32_t id, struct slice *name)
{
	struct slice rest = buf_all(b);

	while (str_has(rest, '\n')) {
		*name = owner_in_line(str_split(&rest, '\n'), id);
		if (name->n > 0)
			return true;
	}
	if (rest.n == b->max)
		rest.n = 0;
	buf_drop(b, b->len - rest.n);
	return false;
}

/* The name is copied to `to`, a buf of the caller. */
static void look_up(int fd, uint32_t id, struct buf *to)
{
	char mem[OWNER_LINE_MAX];
	struct slice name;
	size_t seen = 0;
	struct buf b;
	ssize_t n;

	buf_over(&b, mem, sizeof(mem));
	while (seen < OWNER_FILE_MAX) {
		n = read(fd, b.p + b.len, b.max - b.len);
		if (n <= 0)
			return;
		seen += (size_t)n;
		b.len += (size_t)n;
		if (find_in_lines(&b, id, &name)) {
			buf_slice(to, slice_head(name, OWNER_NAME_MAX));
			return;
		}
	}
}

static void fill(struct owner_name *o)
{
	int fd = open(o->group ? "/etc/group" : "/etc/passwd",
		O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct buf b;

	buf_over(&b, o->name, OWNER_NAME_MAX);
	if (fd >= 0) {
		look_up(fd, o->id, &b);
		close(fd);
	}
	o->number = b.len == 0;
	if (o->number)
		buf_printf(&b, "%u", o->id);
	o->name[b.len] = '\0';
}

const struct owner_name *owner_name(struct owner_names *o, bool group, uint32_t id)
{
	struct owner_name *slot;
	int i;

	for (i = 0; i < OWNERS_KEPT; i++) {
		slot = &o->kept[i];
		if (slot->used && slot->group == group && slot->id == id)
			return slot;
	}
	slot = &o->kept[o->next];
	o->next = (o->next + 1) % OWNERS_KEPT;
	*slot = (struct owner_name){ .used = true, .group = group, .id = id };
	fill(slot);
	return slot;
}
