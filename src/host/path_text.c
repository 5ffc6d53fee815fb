#include "host/path_text.h"

#include <errno.h>
#include <limits.h>

#include "base/str.h"
#include "host/path.h"

enum { ESCAPE_MAX = 4 }; /* bytes one byte of a name may take: \xHH */

/* out holds a normal absolute path without "/" at its end, "" being the root; *len is its length.
 */
static int add_part(struct slice part, char *out, size_t size, size_t *len)
{
	if (part.n == 0 || slice_is(part, "."))
		return 0;
	if (slice_is(part, "..")) {
		while (*len > 0 && out[--*len] != '/')
			;
		return 0;
	}
	if (part.n + 1 >= size - *len)
		return -ENAMETOOLONG;
	out[(*len)++] = '/';
	memcpy(out + *len, part.p, part.n);
	*len += part.n;
	return 0;
}

static int add_parts(struct slice path, char *out, size_t size, size_t *len)
{
	int r = 0;

	while (path.n > 0 && r == 0)
		r = add_part(str_split(&path, '/'), out, size, len);
	return r;
}

int path_normal(const char *base, struct slice given, char *out, size_t size)
{
	size_t len = 0;
	int r = 0;

	if (str_has(given, '\0'))
		r = -EINVAL;
	if (r == 0 && !str_starts(given, "/"))
		r = add_parts(slice_of(base), out, size, &len);
	if (r == 0)
		r = add_parts(given, out, size, &len);
	if (r == 0 && len == 0)
		out[len++] = '/';
	out[r == 0 ? len : 0] = '\0';
	return r;
}

/* Past slashes and "." parts. */
static const char *skip_nothing(const char *p)
{
	while (*p == '/' || (p[0] == '.' && (p[1] == '/' || p[1] == '\0')))
		p++;
	return p;
}

const char *path_strip(const char *path, const char *prefix)
{
	size_t n;

	if (path[0] != '/')
		return NULL;
	path = skip_nothing(path);
	for (prefix++; *prefix; prefix += n + (prefix[n] == '/')) {
		n = (size_t)(strchrnul(prefix, '/') - prefix);
		if (strncmp(path, prefix, n) != 0 || (path[n] != '/' && path[n] != '\0'))
			return NULL;
		path = skip_nothing(path + n);
	}
	return path;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* How many bytes at s can be shown as they are; 0: the first one needs an escape. */
static size_t plain(struct slice s)
{
	int n;

	if (is_control(s.p[0]) || s.p[0] == '\\')
		return 0;
	n = utf8_seq(s);
	return n > 0 ? (size_t)n : 0;
}

static void put_escaped(struct buf *b, char c)
{
	if (c == '\n')
		buf_puts(b, "\\n");
	else if (c == '\t')
		buf_puts(b, "\\t");
	else if (c == '\r')
		buf_puts(b, "\\r");
	else if (c == '\\')
		buf_puts(b, "\\\\");
	else
		buf_printf(b, "\\x%02x", (unsigned)(unsigned char)c);
}

void path_put_name(struct buf *b, struct slice name)
{
	size_t n;

	while (name.n > 0) {
		n = plain(name);
		if (n > 0)
			buf_put(b, name.p, n);
		else
			put_escaped(b, name.p[0]);
		name = slice_from(name, n > 0 ? n : 1);
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that an escape at s stands for, and the escape's length; 0: there is none. */
static size_t take_escape(struct slice s, char *c)
{
	static const char letters[] = "ntr\\", bytes[] = "\n\t\r\\";
	const char *at;

	if (s.n < 2)
		return 0;
	at = s.p[1] ? strchr(letters, s.p[1]) : NULL;
	if (at) {
		*c = bytes[at - letters];
		return 2;
	}
	if (s.p[1] != 'x' || s.n < 4 || hex_value(s.p[2]) < 0 || hex_value(s.p[3]) < 0)
		return 0;
	*c = (char)(hex_value(s.p[2]) << 4 | hex_value(s.p[3]));
	return 4;
}

/* Only the form path_put_name gives counts: \x2e\x2e must not become "..", nor \x2f a slash. */
static bool is_escaped_form(struct slice s, const char *name)
{
	char mem[ESCAPE_MAX * NAME_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	path_put_name(&b, slice_of(name));
	return !b.failed && slice_eq(buf_all(&b), s);
}

bool path_unescape(struct slice s, char *out, size_t size)
{
	struct slice rest = s;
	size_t n, len = 0;

	if (!str_has(s, '\\'))
		return false;
	while (rest.n > 0) {
		if (len + 1 >= size)
			return false;
		n = 1;
		if (rest.p[0] == '\\')
			n = take_escape(rest, &out[len]);
		else
			out[len] = rest.p[0];
		if (n == 0 || out[len] == '\0')
			return false;
		len++;
		rest = slice_from(rest, n);
	}
	out[len] = '\0';
	return is_escaped_form(s, out);
}

static bool shows_as_is(struct slice name)
{
	size_t n;

	for (; name.n > 0; name = slice_from(name, n)) {
		n = name.p[0] == '\\' ? 1 : plain(name);
		if (n == 0)
			return false;
	}
	return true;
}

void path_put_shown(struct buf *b, const char *path)
{
	struct slice rest = slice_of(path), part;

	while (rest.n > 0) {
		part = str_split(&rest, '/');
		if (shows_as_is(part))
			buf_slice(b, part);
		else
			path_put_name(b, part);
		if (rest.n > 0 || part.p + part.n < path + strlen(path))
			buf_putc(b, '/');
	}
}
