#include "front/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "bounds.h"
#include "front/lines.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"

enum { EVENTS_MAX = 64 * KIB };

static struct {
	struct watch in, out;
	struct slice unread; /* the part of chunk for which no job was free */
	size_t chunk_used;   /* bytes of chunk that are not wiped yet */
	struct lines lines;
	struct job *job;           /* collects the current line in its text, NULL between lines */
	const struct era *era;     /* agreed on by initialize; NULL: nothing yet */
	struct job *first, **last; /* answers waiting to leave */
	size_t sent; /* bytes of what leaves now that are gone: of events if any, else of the first
			answer */
	struct buf events; /* progress messages, which go before the answers */
	struct task flush;
	struct timer grace;
	bool ended;              /* no more input */
	bool broken;             /* nobody reads us */
	unsigned hangup;         /* LOOP_HANGUP while standard output can tell that nobody does */
	int in_flags, out_flags; /* as found; -1: left alone */
} io;

static char events_mem[EVENTS_MAX];
static char chunk[READ_CHUNK];

/* --- out --- */

static void end_when_idle(void)
{
	if (io.ended && !io.job && (io.broken || (!io.first && !io.events.len)) && job_count() == 0)
		loop_stop(0);
}

static void answer_free(void)
{
	struct job *j = io.first;

	io.first = j->sink_next;
	if (!io.first)
		io.last = &io.first;
	io.sent = 0;
	job_free(j);
}

static void abandon(struct job *j, void *ctx)
{
	(void)ctx;
	job_abandon(j);
}

/* The reader is gone: nothing that runs is of use to anyone. */
static void out_broken(void)
{
	io.broken = io.ended = true;
	watch_del(&io.in);
	watch_del(&io.out);
	io.events.len = 0;
	io.unread.n = 0;
	while (io.first)
		answer_free();
	if (io.job)
		job_free(io.job);
	io.job = NULL;
	job_each(abandon, NULL);
}

/* One write of what comes next; false when there is nothing or the pipe is full. */
static bool out_write(void)
{
	struct slice s = io.events.len ? buf_all(&io.events)
			 : io.first    ? buf_all(&io.first->out)
				       : (struct slice){ 0 };
	ssize_t n;

	if (!s.n)
		return false;
	n = write(STDOUT_FILENO, s.p + io.sent, s.n - io.sent);
	if (n < 0) {
		if (errno == EINTR)
			return true;
		if (errno != EAGAIN)
			out_broken();
		return false;
	}
	io.sent += (size_t)n;
	if (io.sent < s.n)
		return true;
	if (io.events.len)
		buf_reset(&io.events, true);
	else
		answer_free();
	io.sent = 0;
	return true;
}

static void in_pump(void);

static void out_flush(struct task *t)
{
	(void)t;
	while (out_write())
		;
	if (!io.broken)
		watch_want(&io.out, io.hangup | (io.events.len || io.first ? LOOP_WRITE : 0));
	in_pump();
	end_when_idle();
}

/*
 * A client that was killed leaves no one to read the answers of what still runs. One that only
 * said that it will send no more, on a socket, still reads: that is its last news.
 */
static void out_hangup(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	if (poll(&p, 1, 0) > 0)
		out_broken();
	io.hangup = 0;
}

static void out_ready(struct watch *w, unsigned events)
{
	(void)w;
	if (events & LOOP_HANGUP)
		out_hangup();
	loop_defer(&io.flush);
}

/*
 * An event must not cut an answer in two: while one is half gone, events are dropped (progress may
 * be lost, answers may not), and so are those for which there is no room.
 */
static void sink_event(struct job *j, struct slice message)
{
	(void)j;
	if (io.broken || (io.sent && !io.events.len) || io.events.len + message.n + 1 > EVENTS_MAX)
		return;
	buf_slice(&io.events, message);
	buf_putc(&io.events, '\n');
	loop_defer(&io.flush);
}

static void sink_reply(struct job *j)
{
	if (io.broken || !j->out.len) {
		job_free(j);
	} else {
		mem_overdraft(true);
		buf_putc(&j->out, '\n');
		mem_overdraft(false);
		j->sink_next = NULL;
		*io.last = j;
		io.last = &j->sink_next;
	}
	loop_defer(&io.flush);
}

static void sink_agreed(struct job *j, const struct era *era)
{
	(void)j;
	io.era = era;
}

static const struct sink sink = { sink_event, sink_reply, sink_agreed, .cancel_by_id = true };

/* --- in --- */

/*
 * The job that collects a line. When all are taken the spare one does, so that cancels are still
 * heard; when that one, too, waits for the reader, we stop reading until it is free.
 */
static bool line_job(void)
{
	if (!io.job)
		io.job = job_new(&sink, &io);
	if (!io.job)
		io.job = job_new_spare(&sink, &io);
	return io.job != NULL;
}

static void line_forget(void)
{
	job_free(io.job);
	io.job = NULL;
}

static void line_serve(enum line_event e)
{
	struct job *j = io.job;

	io.job = NULL;
	j->era = io.era ? io.era : era_legacy();
	j->batch_ok = !io.era || io.era->batch;
	if (e == LINE_LONG || j->text.failed)
		rpc_too_long(j);
	else
		rpc_start(j);
}

static void line_event(enum line_event e)
{
	if (e == LINE_BLANK)
		line_forget();
	else if (e != LINE_MORE)
		line_serve(e);
}

/* Gives how much was taken: less than all of it when no job is free. */
static size_t in_feed(struct slice in)
{
	size_t all = in.n;
	struct slice part;
	enum line_event e;

	while (in.n && !io.broken && line_job()) {
		e = lines_take(&io.lines, &in, &part);
		buf_slice(&io.job->text, part);
		line_event(e);
	}
	return all - in.n;
}

/* What only waits for something to happen is not worth going on with (decision 48). */
static void end_waiting(struct job *j, void *ctx)
{
	(void)ctx;
	if (j->tool && (j->tool->flags & TOOL_WAITS))
		job_cancel(j);
}

static void in_end(void)
{
	enum line_event e = lines_finish(&io.lines);

	io.ended = true;
	watch_del(&io.in);
	if (io.job)
		line_event(e);
	job_each(end_waiting, NULL);
	loop_defer(&io.flush);
}

/* There may have been tokens in it. */
static void chunk_wipe(void)
{
	secret_wipe(chunk, io.chunk_used);
	io.chunk_used = 0;
}

/* Serves what was read, and reads on only when all of it found a job. */
static void in_pump(void)
{
	io.unread = slice_from(io.unread, in_feed(io.unread));
	if (!io.unread.n)
		chunk_wipe();
	if (!io.ended)
		watch_want(&io.in, io.unread.n ? 0 : LOOP_READ);
}

static void in_ready(struct watch *w, unsigned events)
{
	ssize_t n = read(w->fd, chunk, sizeof(chunk));

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		in_end();
		return;
	}
	io.unread = (struct slice){ chunk, (size_t)n };
	io.chunk_used = (size_t)n;
	in_pump();
	loop_defer(&io.flush);
}

/* --- start and end --- */

/* What has another end, which may be slow or go away. */
static bool two_ended(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/*
 * Non-blocking only where it can matter, since the flag belongs to the open file, which our parent
 * may share. Gives the flags to restore, or -1.
 */
static int set_nonblock(int fd)
{
	int flags;

	if (!two_ended(fd))
		return -1;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_NONBLOCK) || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return flags;
}

static void grace_over(struct timer *t)
{
	(void)t;
	job_stop_all();
}

int stdio_start(void)
{
	int r;

	lines_init(&io.lines, REQUEST_MAX);
	io.last = &io.first;
	buf_over(&io.events, events_mem, sizeof(events_mem));
	io.flush.run = out_flush;
	io.grace.fire = grace_over;
	io.in.ready = in_ready;
	io.out.ready = out_ready;
	io.in_flags = set_nonblock(STDIN_FILENO);
	io.out_flags = set_nonblock(STDOUT_FILENO);
	r = watch_add(&io.in, STDIN_FILENO, LOOP_READ);
	if (r < 0)
		return r;
	io.hangup = two_ended(STDOUT_FILENO) ? LOOP_HANGUP : 0;
	return watch_add(&io.out, STDOUT_FILENO, io.hangup);
}

void stdio_restore(void)
{
	if (io.in_flags >= 0)
		fcntl(STDIN_FILENO, F_SETFL, io.in_flags);
	if (io.out_flags >= 0)
		fcntl(STDOUT_FILENO, F_SETFL, io.out_flags);
}

void stdio_stop(int64_t grace_ms)
{
	io.ended = true;
	io.unread.n = 0;
	watch_del(&io.in);
	if (io.job)
		line_forget();
	timer_set(&io.grace, grace_ms);
	loop_defer(&io.flush);
}
