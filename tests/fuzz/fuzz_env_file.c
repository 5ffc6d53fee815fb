/*
 * Any text becomes variables within its own bytes or is refused by a line that it has; what is
 * written of them again reads as the same variables.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/str.h"
#include "bounds.h"
#include "environment.h"

enum { MAX = 16 };

static struct buf text, again;

static bool is_name(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] == '_' || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
			    (s.p[i] >= 'a' && s.p[i] <= 'z') ||
			    (i > 0 && s.p[i] >= '0' && s.p[i] <= '9')))
			return false;
	return s.n > 0;
}

static int lines_in(struct slice s)
{
	int n = s.n > 0 && s.p[s.n - 1] != '\n';

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n;
}

/* The variables, each ended by a NUL, at the start of the text and one behind the other; none
 * called like another. */
static void vars_good(char **vars, const struct buf *b, size_t n)
{
	for (char **v = vars; *v; v++) {
		struct slice rest = slice_of(*v), name;

		MUST(*v >= b->p && *v + rest.n <= b->p + n);
		MUST(str_has(rest, '='));
		name = str_split(&rest, '=');
		MUST(is_name(name));
		for (char **w = vars; w < v; w++) {
			struct slice other = slice_of(*w);

			MUST(!slice_eq(str_split(&other, '='), name));
		}
	}
}

/* NAME="value" again, with blanks and a comment where they do not count. */
static void write_again(char **vars)
{
	fuzz_buf(&again, MIB);
	for (; *vars; vars++) {
		struct slice value = slice_of(*vars), name = str_split(&value, '=');

		buf_printf(
			&again, "# x\n export  %.*s = \"%.*s\" \r\n\n", SLICE(name), SLICE(value));
	}
}

static void same_vars(char **a, char **b)
{
	for (; *a && *b; a++, b++)
		MUST(strcmp(*a, *b) == 0);
	MUST(!*a && !*b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *vars[MAX + 1], *vars_again[MAX + 1];
	int line = -1, r;

	fuzz_buf(&text, MIB);
	buf_put(&text, data, size);
	MUST(buf_room(&text, 1));
	memset(text.p + size, '#', text.cap - size);
	r = env_file_parse(text.p, size, vars, MAX, &line);
	for (size_t i = size + 1; i < text.cap; i++)
		MUST(text.p[i] == '#');
	if (r < 0) {
		MUST(r == -EBADMSG);
		MUST(line >= 1 && line <= lines_in((struct slice){ (const char *)data, size }));
		return 0;
	}
	MUST(r == 0);
	vars_good(vars, &text, size);
	write_again(vars);
	buf_putc(&again, '\n');
	MUST(env_file_parse(again.p, again.len - 1, vars_again, MAX, &line) == 0);
	same_vars(vars, vars_again);
	return 0;
}
