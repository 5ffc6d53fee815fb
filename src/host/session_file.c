#include "host/session_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/line_file.h"
#include "host/session_log.h"
#include "host/state_dir.h"
#include "loop/loop.h"
#include "loop/worker.h"

#define NAME "sessions.jsonl"
#define NEW_NAME "sessions.jsonl.new"
#define LOCK_NAME "sessions.lock"

enum { PART = 8 * KIB };

static struct {
	struct session_table *table;
	bool memory; /* nothing is kept */
	bool locked; /* it is ours */
	int dir;     /* -1: not open */
	struct line_file lines;
	bool fresh;           /* lines is the new file, which the next sync gives its name */
	off_t limit;          /* written anew above that */
	uint64_t added, safe; /* lines, counted; synced are those up to `safe` */
	struct worker worker;
	bool syncing;  /* the worker runs: */
	uint64_t upto; /* up to where it syncs */
	bool naming;   /* and whether it gives the new file its name */
	int keep[3];
	struct session_sync *waiting; /* in the order they came */
} file = { .dir = -1, .lines = { .fd = -1 } };

/* --- the file --- */

static int write_table(struct line_file *to)
{
	char mem[PART];
	struct session *s = NULL;
	struct buf b;
	int r = 0;

	buf_over(&b, mem, sizeof(mem));
	while (r == 0 && (s = session_next(file.table, s))) {
		session_put_all(&b, s);
		if (sizeof(mem) - b.len < 2 * SESSION_LINE_MAX) {
			r = line_file_add(to, buf_all(&b));
			buf_cut(&b, 0);
		}
	}
	return r < 0 ? r : line_file_add(to, buf_all(&b));
}

static int take_dir(void)
{
	int r;

	if (file.dir < 0)
		file.dir = state_dir_open(true);
	if (file.dir < 0)
		return file.dir;
	r = file.locked ? 0 : state_dir_lock(file.dir, LOCK_NAME);
	file.locked = file.locked || r == 0;
	return r;
}

/* The whole table beside the file; it becomes the file with the next sync. */
static int write_anew(void)
{
	struct line_file new = { -1, 0 };
	int r = take_dir();

	if (r < 0)
		return r;
	new.fd = openat(file.dir, NEW_NAME,
		O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		0600);
	if (new.fd < 0)
		return -errno;
	r = write_table(&new);
	if (r < 0) {
		line_file_close(&new);
		unlinkat(file.dir, NEW_NAME, 0);
		return r;
	}
	line_file_close(&file.lines);
	file.lines = new;
	file.fresh = true;
	file.limit = 2 * new.size > SESSION_LOG_MAX ? 2 * new.size : SESSION_LOG_MAX;
	return 0;
}

/* Somebody may have removed the state directory, which lies in the workspace. */
static bool is_gone(void)
{
	struct stat st;

	if (file.lines.fd < 0)
		return true;
	if (fstat(file.lines.fd, &st) == 0 && st.st_nlink > 0)
		return false;
	line_file_close(&file.lines);
	file_close(&file.dir);
	return true;
}

static bool is_no_place(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -ENOTDIR ||
	       err == -ELOOP || err == -ENAMETOOLONG || err == -EBUSY;
}

/* Told once: every further call comes here no more. */
static void keep_in_memory(int err)
{
	const struct log_field fields[] = {
		{ "directory", slice_of(state_dir_path()) },
		{ "error", slice_of(err == -EBUSY ? "another server has it" : strerror(-err)) },
		{ 0 },
	};

	file.memory = true;
	log_event(LOG_WARN, "sessions are kept in memory: they will not survive a restart", fields);
}

/* --- syncing --- */

static int sync_now(bool naming)
{
	int r = sync_fd(file.lines.fd);

	if (r == 0 && naming && renameat(file.dir, NEW_NAME, file.dir, NAME) < 0)
		r = -errno;
	return r == 0 && naming ? sync_fd(file.dir) : r;
}

static void sync_work(struct worker *w, struct outcome *o)
{
	(void)w;
	o->err = sync_now(file.naming);
}

static void tell_waiting(uint64_t upto, int err)
{
	struct session_sync *s;

	while ((s = file.waiting) && s->upto <= upto) {
		file.waiting = s->next;
		s->queued = false;
		s->err = err;
		s->done(s);
	}
}

static void sync_start(struct task *t);
static struct task sync_task = { .run = sync_start };

/* After an error nobody knows what is in the file: it is written anew when next there is something
 * to add. */
static void sync_ended(int err)
{
	file.syncing = false;
	if (err < 0) {
		line_file_close(&file.lines);
		file.safe = file.added;
		tell_waiting(UINT64_MAX, err);
		return;
	}
	file.safe = file.upto;
	if (file.naming)
		file.fresh = false;
	tell_waiting(file.safe, 0);
	if (file.safe < file.added)
		loop_defer(&sync_task);
}

static void sync_done(struct worker *w)
{
	sync_ended(w->outcome.err);
}

static void sync_start(struct task *t)
{
	int r = 0;

	(void)t;
	if (file.syncing || file.safe == file.added)
		return;
	if (is_gone())
		r = write_anew();
	file.upto = file.added;
	file.naming = file.fresh;
	if (r < 0) {
		sync_ended(r);
		return;
	}
	file.keep[0] = file.lines.fd;
	file.keep[1] = file.dir;
	file.keep[2] = -1;
	file.worker = (struct worker){ .work = sync_work, .done = sync_done, .keep = file.keep };
	file.syncing = worker_start(&file.worker) == 0;
	if (!file.syncing) /* no process to be had: then the loop has to stand still for it */
		sync_ended(sync_now(file.naming));
}

bool session_file_wait(struct session_sync *s)
{
	struct session_sync **at = &file.waiting;

	if (file.safe == file.added)
		return false;
	while (*at)
		at = &(*at)->next;
	*at = s;
	s->next = NULL;
	s->upto = file.added;
	s->queued = true;
	return true;
}

void session_file_forget(struct session_sync *s)
{
	struct session_sync **at = &file.waiting;

	if (!s->queued)
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->queued = false;
}

/* --- adding --- */

/* While the worker gives the new file its name there must be no other new one. */
static int add(struct slice lines)
{
	if (!file.syncing && is_gone())
		return write_anew();
	if (!file.syncing && file.lines.size + (off_t)lines.n > file.limit) {
		if (write_anew() == 0)
			return 0;
		file.limit = 2 * file.lines.size;
	}
	return line_file_add(&file.lines, lines);
}

int session_file_add(struct slice lines)
{
	int r;

	if (file.memory)
		return 0;
	r = add(lines);
	if (is_no_place(r)) {
		keep_in_memory(r);
		return 0;
	}
	if (r < 0)
		return r;
	file.added++;
	loop_defer(&sync_task);
	return 0;
}

/* --- at start --- */

static void warn_bad(int count)
{
	const struct log_field fields[] = { { "lines", .number = count }, { 0 } };

	if (count > 0)
		log_event(LOG_WARN, "part of the sessions' state file could not be used", fields);
}

static int load(int fd, int64_t now)
{
	struct session_log log;
	struct session *s = NULL;
	char part[PART];
	ssize_t n;

	session_log_init(&log, file.table);
	while ((n = read(fd, part, sizeof(part))) > 0)
		session_log_feed(&log, (struct slice){ part, (size_t)n });
	if (n < 0)
		return -errno;
	warn_bad(log.bad);
	while ((s = session_next(file.table, s)))
		session_settle(s, now);
	return 0;
}

/* Where there is no room for a new file the old one is added to, behind its last whole line. */
static int go_on_with_old(void)
{
	int r;

	file.lines.fd =
		openat(file.dir, NAME, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file.lines.fd < 0)
		return -errno;
	r = line_file_trim(&file.lines);
	file.limit = 2 * file.lines.size + SESSION_LOG_MAX;
	return r;
}

static int open_anew(void)
{
	int r = write_anew();

	if (r == 0)
		r = sync_now(true);
	if (r == 0) {
		file.fresh = false;
		return 0;
	}
	line_file_close(&file.lines);
	return go_on_with_old();
}

/* O_NONBLOCK: it may have been replaced by a FIFO, which is then no regular file. */
static int open_old(int *fd)
{
	struct stat st;

	file.dir = state_dir_open(false);
	if (file.dir < 0)
		return file.dir;
	*fd = openat(file.dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	return fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) ? take_dir() : -EPERM;
}

int session_file_open(struct session_table *t, int64_t now)
{
	int fd = -1, r;

	file.table = t;
	r = open_old(&fd);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = load(fd, now);
	file_close(&fd);
	if (r == 0)
		r = open_anew();
	if (r < 0)
		keep_in_memory(r);
	return r;
}
