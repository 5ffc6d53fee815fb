#include "host/git_ref.h"

#include "base/ascii.h"
#include "base/str.h"

static bool is_bad(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c);
}

static bool has_bad(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_bad(s.p[i]))
			return true;
	return false;
}

static bool has_pair(struct slice s, const char *two)
{
	return str_find(s, slice_of(two)) != NULL;
}

static bool ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && slice_is(slice_from(s, s.n - n), end);
}

static const char *part_rule(struct slice part)
{
	if (part.n == 0)
		return "must not begin or end with a slash or hold two in a row";
	if (part.p[0] == '.')
		return "must not hold a part that begins with a dot";
	if (ends_with(part, ".lock"))
		return "must not hold a part that ends with .lock";
	return NULL;
}

static const char *parts_rule(struct slice s)
{
	const char *rule = ends_with(s, "/") ? part_rule((struct slice){ 0 }) : NULL;

	while (s.n > 0 && !rule)
		rule = part_rule(str_split(&s, '/'));
	return rule;
}

/* What holds of every name below refs/, and no option may look like one. */
static const char *ref_rule(struct slice s)
{
	if (s.n == 0)
		return "must not be empty";
	if (s.p[0] == '-')
		return "must not begin with a dash";
	if (str_has(s, ':'))
		return "must be one name, not a refspec with a colon";
	if (has_bad(s))
		return "must not hold blanks, control characters or any of ~ ^ ? * [ \\";
	if (has_pair(s, ".."))
		return "must not hold two dots in a row";
	if (has_pair(s, "@{") || slice_is(s, "@"))
		return "must not be @ or hold @{";
	if (ends_with(s, "."))
		return "must not end with a dot";
	return parts_rule(s);
}

const char *git_branch_rule(struct slice name)
{
	if (slice_is(name, "HEAD"))
		return "must not be HEAD";
	return ref_rule(name);
}

const char *git_refspec_rule(struct slice name)
{
	if (str_starts(name, "+"))
		return "must be one name, not a refspec that forces";
	return ref_rule(name);
}

/* Without the ~n and ^n it ends with. */
static struct slice without_steps(struct slice name)
{
	size_t n = name.n, digits;

	for (;;) {
		for (digits = n; digits > 0 && ascii_digit(name.p[digits - 1]);)
			digits--;
		if (digits == 0 || (name.p[digits - 1] != '~' && name.p[digits - 1] != '^'))
			return slice_head(name, n);
		n = digits - 1;
	}
}

const char *git_checkout_rule(struct slice name)
{
	if (slice_is(name, "-"))
		return NULL;
	return ref_rule(without_steps(name));
}
