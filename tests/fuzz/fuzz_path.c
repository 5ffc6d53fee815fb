/*
 * A path becomes normal text or an error, whatever it is; what is normal stays; a plain stack of
 * names gives the same. Any name survives escaping and back, and nothing but an escaped form is
 * turned back.
 */
#include "fuzz.h"

#include <errno.h>
#include <limits.h>

#include "base/str.h"
#include "host/path.h"
#include "host/path_text.h"

enum { NAMES = 4096 };

/* The same by a stack of names. Gives the length, or 0 when there is a NUL. */
static size_t by_stack(struct slice base, struct slice given, char *out)
{
	static struct slice stack[2 * NAMES];
	struct slice rest[2] = { given.n > 0 && given.p[0] == '/' ? (struct slice){ base.p, 0 }
								  : base,
		given },
		     name;
	size_t depth = 0, len = 0, i;

	if (given.n > 0 && memchr(given.p, '\0', given.n))
		return 0;
	for (i = 0; i < 2; i++)
		while (rest[i].n > 0) {
			name = str_split(&rest[i], '/');
			if (slice_is(name, ".."))
				depth -= depth > 0;
			else if (name.n > 0 && !slice_is(name, "."))
				stack[depth++] = name;
		}
	for (i = 0; i < depth; i++) {
		out[len++] = '/';
		memcpy(out + len, stack[i].p, stack[i].n);
		len += stack[i].n;
	}
	if (depth == 0)
		out[len++] = '/';
	return len;
}

static void is_normal(const char *path)
{
	char again[PATH_MAX];

	MUST(path[0] == '/');
	MUST(!strstr(path, "//"));
	MUST(path[1] == '\0' || path[strlen(path) - 1] != '/');
	MUST(path_normal("/elsewhere", slice_of(path), again, sizeof(again)) == 0);
	MUST(strcmp(path, again) == 0);
}

static void below_or_not(const char *path, const char *root)
{
	const char *rest = path_strip(path, root);
	size_t n = strlen(root);
	bool below = strncmp(path, root, n) == 0 &&
		     (root[1] == '\0' || path[n] == '/' || path[n] == '\0');

	MUST((rest != NULL) == below);
	if (rest) {
		MUST(rest[0] != '/');
		MUST(strlen(rest) <= strlen(path));
		MUST(strcmp(path + strlen(path) - strlen(rest), rest) == 0);
	}
}

static void normalised(const char *base, struct slice given)
{
	static char out[PATH_MAX], want[4 * NAMES];
	size_t n = by_stack(slice_of(base), given, want);
	int r = path_normal(base, given, out, sizeof(out));

	if (r < 0) {
		MUST(out[0] == '\0');
		MUST(r == -ENAMETOOLONG || (r == -EINVAL && n == 0));
		return;
	}
	MUST(n > 0 && slice_eq(slice_of(out), (struct slice){ want, n }));
	is_normal(out);
	below_or_not(out, base);
	below_or_not(out, "/");
}

static struct buf *escaped(struct slice name)
{
	static struct buf mem;
	struct buf *b = fuzz_buf(&mem, MIB);

	path_put_name(b, name);
	return b;
}

static void escaped_and_back(struct slice name)
{
	char back[NAMES + 1];
	struct buf *b = escaped(name);
	size_t i;

	for (i = 0; i < b->len; i++)
		MUST((unsigned char)b->p[i] >= 0x20 && b->p[i] != 0x7f);
	for (struct slice s = buf_all(b); s.n > 0; s = slice_from(s, (size_t)utf8_seq(s)))
		MUST(utf8_seq(s) > 0);
	if (name.n > NAME_MAX || memchr(name.p, '\0', name.n) || slice_eq(name, buf_all(b)))
		return;
	MUST(path_unescape(buf_all(b), back, sizeof(back)));
	MUST(slice_eq(slice_of(back), name));
}

static void only_that_form(struct slice text)
{
	char back[NAMES + 1];

	if (!path_unescape(text, back, sizeof(back)))
		return;
	MUST(!strchr(back, '/') || str_has(text, '/'));
	MUST(strcmp(back, ".") != 0 && strcmp(back, "..") != 0);
	MUST(slice_eq(buf_all(escaped(slice_of(back))), text));
}

/* A client's path as listings show it can be taken in again: no control byte, valid UTF-8, as many
 * parts. */
static void shown_again(struct slice given)
{
	static struct buf mem;
	struct buf *b;
	char path[NAMES + 1];
	size_t i, slashes = 0;

	if (str_c(given, path, sizeof(path)) < 0)
		return;
	b = fuzz_buf(&mem, MIB);
	path_put_shown(b, path);
	for (i = 0; i < b->len; i++)
		slashes += b->p[i] == '/';
	for (i = 0; i < given.n; i++)
		slashes -= given.p[i] == '/';
	MUST(slashes == 0);
	for (struct slice s = buf_all(b); s.n > 0; s = slice_from(s, (size_t)utf8_seq(s)))
		MUST(utf8_seq(s) > 0 && (unsigned char)s.p[0] >= 0x20 && s.p[0] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size };

	if (size > NAMES)
		return 0;
	normalised("/w", s);
	normalised("/home/dev", s);
	normalised("/", s);
	if (size > 0)
		escaped_and_back(s);
	only_that_form(s);
	shown_again(s);
	return 0;
}
