#include "http/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "bounds.h"

enum {
	SECRET_ROOM = 8 * KIB, /* kept behind the bound, so that a secret across it is seen */
	TEXT_MAX = 4 * (HTTP_HEAD_MAX + TRACE_BODY_MAX), /* masked; "***" may take more room */
};

static int file = -1;
static unsigned long exchanges;
static struct slice hidden;
static struct buf text; /* what is to be written next */

int http_trace_open(const char *path)
{
	struct stat st;
	int e = 0,
	    fd = open(path,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		    0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		e = -errno;
	else if (!S_ISREG(st.st_mode))
		e = -EINVAL;
	else if (fchmod(fd, 0600) < 0) /* whoever may read it sees what commands print */
		e = -errno;
	if (e == 0)
		e = buf_reserve(&text, TEXT_MAX);
	if (e < 0) {
		close(fd);
		return e;
	}
	file = fd;
	return 0;
}

void http_trace_hide(struct slice members)
{
	hidden = members;
}

/* All of text in one piece, so that exchanges at the same time do not mix. */
static void text_write(void)
{
	static bool told;
	int e = write_all(file, buf_all(&text));

	buf_reset(&text, true);
	if (e == 0 || told)
		return;
	told = true;
	log_event(LOG_WARN, "SANDSTORM_TRACE cannot be written",
		(const struct log_field[]){ { "error", slice_of(strerror(-e)), 0 }, { 0 } });
}

static void put_begin(unsigned long number, const char *what)
{
	buf_printf(&text, "--- %lu ", number);
	clock_put_iso(&text, clock_unix());
	buf_printf(&text, " %s\n", what);
}

/* The first TRACE_BODY_MAX bytes of a body that had `total`. */
static void put_body(const struct mask *m, struct slice body, uint64_t total)
{
	size_t before = text.len;

	mask_put_body(m, &text, body);
	for (size_t i = before; i < text.len; i++) /* nothing that moves a cursor */
		if ((unsigned char)text.p[i] < ' ' && text.p[i] != '\t' && text.p[i] != '\n')
			text.p[i] = '?';
	if (total > body.n)
		buf_printf(&text, "\n[... %llu bytes left out ...]",
			(unsigned long long)(total - body.n));
	buf_puts(&text, total ? "\n" : "");
}

/* Where a text of which more is there may be cut: not inside of a secret. */
static struct slice cut(const struct mask *m, struct slice body)
{
	size_t at = 0, n;

	while (at < body.n && at < TRACE_BODY_MAX) {
		n = mask_at(m, slice_from(body, at));
		at += n ? n : 1;
	}
	return slice_head(body, at);
}

void trace_request(struct trace *t, struct slice head, struct slice fields, struct slice body)
{
	if (file < 0)
		return;
	t->number = ++exchanges;
	t->began = clock_ms();
	t->got = 0;
	mask_from(&t->mask, fields);
	t->mask.members = hidden;
	put_begin(t->number, "request");
	mask_put_head(&t->mask, &text, head);
	put_body(&t->mask, cut(&t->mask, body), body.n);
	text_write();
}

static bool memory_open(struct trace *t)
{
	return buf_ready(&t->head, HTTP_HEAD_MAX) &&
	       buf_ready(&t->body, TRACE_BODY_MAX + SECRET_ROOM);
}

void trace_head(struct trace *t, struct slice head)
{
	if (t->number && memory_open(t))
		buf_slice(&t->head, head);
}

void trace_part(struct trace *t, struct slice part)
{
	if (!t->number)
		return;
	t->got += part.n;
	buf_slice(&t->body, slice_head(part, t->body.max - t->body.len));
}

void trace_end(struct trace *t, const char *failure)
{
	if (!t->number)
		return;
	put_begin(t->number, "reply");
	mask_put_head(&t->mask, &text, buf_all(&t->head));
	put_body(&t->mask, cut(&t->mask, buf_all(&t->body)), t->got);
	buf_printf(&text, "--- %lu after %lld ms%s%s\n\n", t->number,
		(long long)(clock_ms() - t->began), failure ? ": " : "", failure ? failure : "");
	text_write();
	buf_release(&t->head);
	buf_release(&t->body);
	t->number = 0;
}

void trace_unsent(const char *method, struct slice target, const char *failure)
{
	if (file < 0)
		return;
	put_begin(++exchanges, "not sent");
	buf_printf(&text, "%s %.*s: %s\n\n", method, SLICE(target), failure);
	text_write();
}
