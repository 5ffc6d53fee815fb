#include "host/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/str.h"
#include "bounds.h"

enum {
	LINE_MAX_BYTES = 8 * KIB, /* a longer line is passed over (overlay mounts have long ones) */
	OS_LINES = 5,
};

/* ---- lines of a system file ---- */

struct reader {
	bool (*line)(struct reader *r, struct slice line); /* false: enough */
	bool enough;
	bool rest; /* what comes next is the rest of a line that was too long */
};

static void take_line(struct reader *r, struct slice line)
{
	if (!r->rest)
		r->enough = !r->line(r, line);
	r->rest = false;
}

static struct slice take_lines(struct reader *r, struct slice s)
{
	const char *end;

	while (!r->enough && s.n > 0 && (end = memchr(s.p, '\n', s.n))) {
		take_line(r, (struct slice){ s.p, (size_t)(end - s.p) });
		s = slice_from(s, (size_t)(end - s.p) + 1);
	}
	return s;
}

/* False when the file cannot be opened. */
static bool read_lines(struct reader *r, const char *path)
{
	static char mem[LINE_MAX_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct slice s = { mem, 0 };
	ssize_t n;

	if (fd < 0)
		return false;
	while (!r->enough && (n = read(fd, mem + s.n, sizeof(mem) - s.n)) > 0) {
		s = take_lines(r, (struct slice){ mem, s.n + (size_t)n });
		if (s.n == sizeof(mem)) {
			r->rest = true;
			s.n = 0;
		}
		memmove(mem, s.p, s.n);
	}
	if (!r->enough && s.n > 0)
		take_line(r, (struct slice){ mem, s.n });
	close(fd);
	return true;
}

/* ---- sizes ---- */

/* Three figures and a unit of 1024, rounded up: 999, 4.0K, 17G. */
static void put_size(char *out, size_t size, uint64_t bytes, const char *unit)
{
	static const char prefixes[] = "KMGTP";
	uint64_t scale = 1, tenths;
	struct buf b;
	int u = -1;

	buf_over(&b, out, size);
	while (bytes / scale >= 1024 && prefixes[u + 1] != '\0') {
		scale *= 1024;
		u++;
	}
	tenths = bytes / scale * 10 + (bytes % scale * 10 + scale - 1) / scale;
	if (u < 0)
		buf_printf(&b, "%llu%s", (unsigned long long)bytes, *unit ? "B" : "");
	else if (tenths < 100)
		buf_printf(&b, "%d.%d%c%s", (int)tenths / 10, (int)tenths % 10, prefixes[u], unit);
	else
		buf_printf(&b, "%d%c%s", (int)((tenths + 9) / 10), prefixes[u], unit);
	buf_putc(&b, '\0');
}

/* ---- operating system ---- */

struct os_reader {
	struct reader r;
	struct buf *out;
	int lines;
};

static bool os_line(struct reader *r, struct slice line)
{
	struct os_reader *o = (struct os_reader *)r;

	buf_slice(o->out, line);
	buf_putc(o->out, '\n');
	return ++o->lines < OS_LINES;
}

void facts_os(struct buf *b)
{
	struct os_reader o = { .r.line = os_line, .out = b };

	if (!read_lines(&o.r, "/etc/os-release"))
		read_lines(&o.r, "/usr/lib/os-release");
	if (o.lines == 0)
		buf_puts(b, "not available\n");
}

/* ---- disk ---- */

struct mount_reader {
	struct reader r;
	const char *path;
	size_t best; /* length of the longest mount point above path, plus one */
	char point[PATH_MAX], source[PATH_MAX];
};

static char octal(const char *digits)
{
	unsigned v = 0;

	for (int i = 0; i < 3; i++)
		v = v << 3 | ((unsigned)digits[i] & 7);
	return (char)v;
}

/* Blank, tab, newline and backslash stand as \ooo in /proc/self/mountinfo. */
static void unescape(struct slice s, char *out, size_t size)
{
	size_t n = 0;

	while (s.n > 0 && n + 1 < size) {
		bool escape = s.n >= 4 && s.p[0] == '\\';

		out[n++] = escape ? octal(s.p + 1) : s.p[0];
		s = slice_from(s, escape ? 4 : 1);
	}
	out[n] = '\0';
}

static bool is_above(const char *point, const char *path)
{
	size_t n = strlen(point);

	return strcmp(point, "/") == 0 ||
	       (strncmp(point, path, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

/*
 * "36 35 98:0 /root /mount/point options [optional ...] - type source options", proc(5). Of two at
 * the same point the later is on top.
 */
static bool mount_line(struct reader *r, struct slice line)
{
	struct mount_reader *m = (struct mount_reader *)r;
	struct slice point = { 0 };
	char text[PATH_MAX];

	for (int field = 0; field < 5; field++)
		point = str_split(&line, ' ');
	unescape(point, text, sizeof(text));
	if (!is_above(text, m->path) || strlen(text) + 1 < m->best)
		return true;
	while (line.n > 0 && !slice_is(str_split(&line, ' '), "-"))
		;
	str_split(&line, ' ');
	m->best = strlen(text) + 1;
	memcpy(m->point, text, m->best);
	unescape(str_split(&line, ' '), m->source, sizeof(m->source));
	return true;
}

static void put_disk_row(struct buf *b, const struct mount_reader *m, const struct statvfs *v)
{
	uint64_t unit = v->f_frsize, used = v->f_blocks - v->f_bfree, all = used + v->f_bavail;
	char text[3][16];

	put_size(text[0], sizeof(text[0]), v->f_blocks * unit, "");
	put_size(text[1], sizeof(text[1]), used * unit, "");
	put_size(text[2], sizeof(text[2]), v->f_bavail * unit, "");
	buf_printf(b, "%-15s %5s %5s %5s %3d%% %s\n", m->source, text[0], text[1], text[2],
		all > 0 ? (int)((used * 100 + all - 1) / all) : 0, m->point);
}

void facts_disk(struct buf *b, const char *path)
{
	static struct mount_reader m;
	struct statvfs v;

	m = (struct mount_reader){ .r.line = mount_line, .path = path };
	m.point[0] = m.source[0] = '-';
	if (statvfs(path, &v) < 0) {
		buf_puts(b, "not available\n");
		return;
	}
	read_lines(&m.r, "/proc/self/mountinfo");
	buf_puts(b, "Filesystem       Size  Used Avail Use% Mounted on\n");
	put_disk_row(b, &m, &v);
}

/* ---- memory ---- */

enum {
	TOTAL,
	FREE,
	AVAILABLE,
	BUFFERS,
	CACHED,
	RECLAIMABLE,
	SHARED,
	SWAP_TOTAL,
	SWAP_FREE,
	MEMORY_FIGURES
};

static const char memory_heading[] =
	"               total        used        free      shared  buff/cache   available";

struct memory_reader {
	struct reader r;
	uint64_t figure[MEMORY_FIGURES]; /* bytes */
};

/* "MemTotal:       16318480 kB" */
static bool memory_line(struct reader *r, struct slice line)
{
	static const char *const names[MEMORY_FIGURES] = {
		[TOTAL] = "MemTotal",
		[FREE] = "MemFree",
		[AVAILABLE] = "MemAvailable",
		[BUFFERS] = "Buffers",
		[CACHED] = "Cached",
		[RECLAIMABLE] = "SReclaimable",
		[SHARED] = "Shmem",
		[SWAP_TOTAL] = "SwapTotal",
		[SWAP_FREE] = "SwapFree",
	};
	struct memory_reader *m = (struct memory_reader *)r;
	struct slice name = str_split(&line, ':'), value = str_trim(line);
	int64_t kib;

	if (str_int(str_split(&value, ' '), &kib) < 0 || kib < 0)
		return true;
	for (int i = 0; i < MEMORY_FIGURES; i++)
		if (slice_is(name, names[i]))
			m->figure[i] = (uint64_t)kib * KIB;
	return true;
}

/* Without /proc the kernel's own short account has to do. */
static void ask_kernel(uint64_t *figure)
{
	struct sysinfo s;

	if (sysinfo(&s) < 0)
		return;
	figure[TOTAL] = (uint64_t)s.totalram * s.mem_unit;
	figure[FREE] = (uint64_t)s.freeram * s.mem_unit;
	figure[BUFFERS] = (uint64_t)s.bufferram * s.mem_unit;
	figure[SHARED] = (uint64_t)s.sharedram * s.mem_unit;
	figure[SWAP_TOTAL] = (uint64_t)s.totalswap * s.mem_unit;
	figure[SWAP_FREE] = (uint64_t)s.freeswap * s.mem_unit;
}

static void put_figure(struct buf *b, uint64_t bytes)
{
	char text[16];

	put_size(text, sizeof(text), bytes, "i");
	buf_printf(b, "%12s", text);
}

/* Free memory as far as anything tells; all figures are 0 when nothing does. */
static struct memory_reader read_memory(void)
{
	struct memory_reader m = { .r.line = memory_line };
	uint64_t *f = m.figure;

	if (!read_lines(&m.r, "/proc/meminfo") || f[TOTAL] == 0)
		ask_kernel(f);
	if (f[AVAILABLE] == 0) /* kernels before 3.14 do not say */
		f[AVAILABLE] = f[FREE] + f[BUFFERS] + f[CACHED] + f[RECLAIMABLE];
	if (f[AVAILABLE] > f[TOTAL]) /* some containers */
		f[AVAILABLE] = f[TOTAL];
	return m;
}

uint64_t facts_memory_available(void)
{
	return read_memory().figure[AVAILABLE];
}

void facts_memory(struct buf *b)
{
	struct memory_reader m = read_memory();
	uint64_t *f = m.figure;

	buf_puts(b, memory_heading);
	buf_puts(b, "\nMem:    ");
	put_figure(b, f[TOTAL]);
	put_figure(b, f[TOTAL] - f[AVAILABLE]);
	put_figure(b, f[FREE]);
	put_figure(b, f[SHARED]);
	put_figure(b, f[BUFFERS] + f[CACHED] + f[RECLAIMABLE]);
	put_figure(b, f[AVAILABLE]);
	buf_puts(b, "\nSwap:   ");
	put_figure(b, f[SWAP_TOTAL]);
	put_figure(b, f[SWAP_TOTAL] - f[SWAP_FREE]);
	put_figure(b, f[SWAP_FREE]);
	buf_putc(b, '\n');
}
