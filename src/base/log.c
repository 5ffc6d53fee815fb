#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum {
	LINE_BYTES = PIPE_BUF, /* a pipe that is writable has room for so much */
	TAIL_BYTES = 2,        /* closing brace and newline */
};

static enum log_level level_most = LOG_INFO;
static bool as_json;
static int64_t dropped;

void log_setup(enum log_level most, bool json)
{
	level_most = most;
	as_json = json;
}

static bool is_control(struct slice seq)
{
	unsigned char c = (unsigned char)seq.p[0];

	/* U+0080 to U+009F too: some terminals obey them. */
	return c < 0x20 || c == 0x7f || (seq.n == 2 && c == 0xc2 && (unsigned char)seq.p[1] < 0xa0);
}

/*
 * One character of text with nothing in it that could end the line, the quotes or the terminal's
 * temper.
 */
static void put_char(struct buf *b, struct slice seq, bool quoted)
{
	unsigned char c = (unsigned char)seq.p[seq.n - 1];

	if (is_control(seq)) {
		if (c == '\n')
			buf_puts(b, "\\n");
		else
			buf_printf(b, "\\u%04x", c);
		return;
	}
	if (quoted && (c == '"' || c == '\\'))
		buf_putc(b, '\\');
	buf_slice(b, seq);
}

static void put_escaped(struct buf *b, struct slice s, bool quoted)
{
	int n;

	while (s.n > 0 && !b->failed) {
		n = utf8_seq(s);
		if (n > 0)
			put_char(b, (struct slice){ s.p, (size_t)n }, quoted);
		else
			utf8_put(b, 0xfffd);
		s = slice_from(s, n > 0 ? (size_t)n : utf8_bad(s));
	}
}

static void put_quoted(struct buf *b, struct slice s, bool cut)
{
	buf_putc(b, '"');
	put_escaped(b, s, true);
	buf_puts(b, cut ? "...\"" : "\"");
}

/* Text that stands without quotes in the text form. */
static bool is_bare(struct slice s)
{
	size_t i;

	for (i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\' ||
			s.p[i] == '=')
			return false;
	return s.n > 0;
}

static void put_key(struct buf *b, const char *key)
{
	buf_printf(b, as_json ? ",\"%s\":" : " %s=", key);
}

static void put_number(struct buf *b, const char *key, int64_t number)
{
	put_key(b, key);
	buf_printf(b, "%lld", (long long)number);
}

/*
 * A text too long for the line is cut to what fits; a field that does not fit at all is left out.
 */
static void put_text(struct buf *b, const char *key, struct slice s)
{
	size_t start = b->len;
	bool cut = s.n > LINE_BYTES;

	if (cut)
		s.n = LINE_BYTES;
	for (;;) {
		put_key(b, key);
		if (!as_json && !cut && is_bare(s))
			buf_slice(b, s);
		else
			put_quoted(b, s, cut);
		if (!b->failed)
			return;
		buf_cut(b, start);
		if (s.n == 0)
			return;
		s.n /= 2;
		while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
		cut = true;
	}
}

static void put_head(struct buf *b, enum log_level level, const char *msg)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };

	if (as_json)
		buf_puts(b, "{\"ts\":\"");
	clock_put_iso(b, clock_unix());
	if (as_json) {
		buf_printf(b, "\",\"level\":\"%s\"", names[level]);
		put_text(b, "msg", slice_of(msg));
		return;
	}
	buf_printf(b, " %s ", names[level]);
	put_escaped(b, slice_of(msg), false);
	b->failed = false;
}

/* One write, and only when it cannot block or raise SIGPIPE. */
static bool write_line(const char *p, size_t n)
{
	struct pollfd at = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&at, 1, 0) != 1 || at.revents != POLLOUT)
		return false;
	return write(STDERR_FILENO, p, n) == (ssize_t)n;
}

void log_event(enum log_level level, const char *msg, const struct log_field *fields)
{
	char line[LINE_BYTES];
	int saved = errno;
	struct buf b;

	if (level > level_most)
		return;
	buf_over(&b, line, sizeof(line) - TAIL_BYTES);
	put_head(&b, level, msg);
	if (dropped > 0)
		put_number(&b, "dropped", dropped);
	for (; fields && fields->key; fields++) {
		if (fields->text.p)
			put_text(&b, fields->key, fields->text);
		else
			put_number(&b, fields->key, fields->number);
		buf_cut(&b, b.len); /* clears a failure: a shorter field may fit */
	}
	if (as_json)
		line[b.len++] = '}';
	line[b.len++] = '\n';
	dropped = write_line(line, b.len) ? 0 : dropped + 1;
	errno = saved;
}
