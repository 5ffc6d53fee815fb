/*
 * A name is taken exactly when git would take it: the same rules, read the way git's own
 * check_refname_component does, byte by byte.
 */
#include "fuzz.h"

#include "host/git_ref.h"

static bool is_forbidden(char c)
{
	switch (c) {
	case ' ':
	case '~':
	case '^':
	case ':':
	case '?':
	case '*':
	case '[':
	case '\\':
	case 0x7f:
		return true;
	default:
		return (unsigned char)c < 0x20;
	}
}

/* One part: its length, or -1. */
static int part_len(struct slice s)
{
	char last = '\0';
	size_t n = 0;

	for (; n < s.n && s.p[n] != '/'; n++) {
		char c = s.p[n];

		if (is_forbidden(c) || (last == '.' && c == '.') || (last == '@' && c == '{'))
			return -1;
		last = c;
	}
	if (n == 0 || s.p[0] == '.')
		return -1;
	if (n >= 5 && memcmp(s.p + n - 5, ".lock", 5) == 0)
		return -1;
	return (int)n;
}

/* git check-ref-format --branch */
static bool is_branch(struct slice s)
{
	int n = 0;

	if (s.n == 0 || s.p[0] == '-' || slice_is(s, "@") || s.p[s.n - 1] == '.')
		return false;
	for (;;) {
		n = part_len(s);
		if (n < 0)
			return false;
		if ((size_t)n == s.n)
			return true;
		s = slice_from(s, (size_t)n + 1);
	}
}

/* Whatever is checked out is no option, no file below a directory above, and one word. */
static void checkout(struct slice s)
{
	if (git_checkout_rule(s) || slice_is(s, "-"))
		return;
	MUST(s.n > 0 && s.p[0] != '-' && s.p[0] != '.' && s.p[0] != '/' && s.p[0] != ':');
	for (size_t i = 0; i < s.n; i++)
		MUST((unsigned char)s.p[i] > ' ' && s.p[i] != 0x7f && s.p[i] != ':');
	while (s.n > 0 && !is_branch(s)) {
		char c = s.p[--s.n];

		MUST(c == '~' || c == '^' || (c >= '0' && c <= '9'));
	}
	MUST(s.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size };
	bool branch = is_branch(s);

	MUST((git_branch_rule(s) == NULL) == (branch && !slice_is(s, "HEAD")));
	MUST((git_refspec_rule(s) == NULL) == (branch && s.p[0] != '+'));
	MUST(git_checkout_rule(s) == NULL || !branch);
	checkout(s);
	return 0;
}
