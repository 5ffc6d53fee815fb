#include "http/field.h"

#include "base/str.h"

size_t http_head_end(struct slice in, size_t *scanned)
{
	size_t at = *scanned;
	const char *lf;

	while (at < in.n && (lf = memchr(in.p + at, '\n', in.n - at))) {
		size_t next = (size_t)(lf - in.p) + 1;

		if (next < in.n && in.p[next] == '\n')
			return next + 1;
		if (next + 1 < in.n && in.p[next] == '\r' && in.p[next + 1] == '\n')
			return next + 2;
		if (next + 1 >= in.n) { /* the decisive byte is still to come */
			*scanned = next - 1;
			return 0;
		}
		at = next;
	}
	*scanned = in.n;
	return 0;
}

struct slice http_line_take(struct slice *rest)
{
	struct slice line = str_split(rest, '\n');

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

bool http_same(struct slice a, const char *b)
{
	return str_same(a, slice_of(b));
}

bool http_is_token(struct slice s)
{
	return s.n > 0 && str_only(s, "!#$%&'*+-.^_`|~");
}

bool http_is_value(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	return true;
}

bool http_is_target(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
			return false;
	return s.n > 0;
}

static struct slice trimmed(struct slice v)
{
	while (v.n && (v.p[0] == ' ' || v.p[0] == '\t'))
		v = slice_from(v, 1);
	while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
		v.n--;
	return v;
}

bool http_field_split(struct slice line, struct slice *name, struct slice *value)
{
	*name = str_split(&line, ':');
	*value = trimmed(line);
	/* Without a colon str_split takes all; the value then starts where no byte is. */
	return http_is_token(*name) && name->p + name->n != line.p && http_is_value(*value);
}

bool http_list_has(struct slice list, const char *word)
{
	while (list.n)
		if (http_same(str_trim(str_split(&list, ',')), word))
			return true;
	return false;
}

bool http_version(struct slice s, int *major, int *minor)
{
	if (s.n != 8 || memcmp(s.p, "HTTP/", 5) != 0 || s.p[6] != '.')
		return false;
	if (s.p[5] < '0' || s.p[5] > '9' || s.p[7] < '0' || s.p[7] > '9')
		return false;
	*major = s.p[5] - '0';
	*minor = s.p[7] - '0';
	return true;
}

bool http_length(struct slice s, int64_t *length)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return str_int(s, length) == 0;
}
