#include "base/url_secret.h"

#include "base/str.h"

static bool ends_word(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

static bool ends_authority(char c)
{
	return ends_word(c) || c == '/' || c == '?' || c == '#';
}

static size_t span(struct slice s, bool (*ends)(char c))
{
	size_t n = 0;

	while (n < s.n && !ends(s.p[n]))
		n++;
	return n;
}

/* Where the last "@" is, s.n when there is none. */
static size_t last_at(struct slice s)
{
	const char *at = s.n > 0 ? memrchr(s.p, '@', s.n) : NULL;

	return at ? (size_t)(at - s.p) : s.n;
}

/* Does the scheme that ends here send names as it sends passwords? */
static bool is_http(struct slice before)
{
	static const char *const names[] = { "http", "https" };

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(names[i]);

		if (before.n >= n && str_same(slice_from(before, before.n - n), slice_of(names[i])))
			return true;
	}
	return false;
}

/* "name:" and then something that is no port; no address in brackets either. */
static bool is_no_host(struct slice authority)
{
	const char *colon = authority.n > 0 ? memrchr(authority.p, ':', authority.n) : NULL;

	if (!colon || authority.p[0] == '[')
		return false;
	while (++colon < authority.p + authority.n)
		if (*colon < '0' || *colon > '9')
			return true;
	return false;
}

/*
 * How much of rest, which follows "://", is secret. *no_at: up to there no "@" was found before, so
 * that a word is searched once, however many URLs it holds.
 */
static size_t secret_at(struct slice before, struct slice rest, unsigned cut, const char **no_at)
{
	struct slice authority = slice_head(rest, span(rest, ends_authority)), word;
	bool open = (cut & CUT_END) && authority.n == rest.n;
	size_t n = last_at(authority);

	if (open && (is_http(before) || n < authority.n || memchr(rest.p, ':', rest.n)))
		return rest.n;
	if (n < authority.n)
		return is_http(before) || memchr(rest.p, ':', n) ? n : 0;
	if (!is_no_host(authority) || *no_at > rest.p)
		return 0;
	word = slice_head(rest, span(rest, ends_word));
	if ((cut & CUT_END) && word.n == rest.n)
		return rest.n;
	n = last_at(word);
	if (n < word.n)
		return n;
	*no_at = word.p + word.n;
	return 0;
}

/* The first word of a text whose beginning is not known: up to its last "@" it is suspect. */
static size_t secret_at_start(struct slice text, unsigned cut)
{
	struct slice word = slice_head(text, span(text, ends_word));
	size_t n = last_at(word);

	if ((cut & CUT_END) && word.n == text.n)
		return word.n;
	return n < word.n ? n : 0;
}

bool url_secret(struct slice text, unsigned cut, struct slice *secret)
{
	const struct slice mark = LIT("://");
	struct slice rest = text;
	const char *no_at = NULL;
	size_t n = cut & CUT_START ? secret_at_start(text, cut) : 0;

	*secret = slice_head(text, n);
	while (secret->n == 0) {
		const char *at = str_find(rest, mark);

		if (!at)
			return false;
		rest = slice_from(rest, (size_t)(at - rest.p) + mark.n);
		n = secret_at((struct slice){ text.p, (size_t)(at - text.p) }, rest, cut, &no_at);
		*secret = slice_head(rest, n);
	}
	return true;
}

struct slice url_shown(struct slice *rest, unsigned *cut, bool *masked)
{
	struct slice shown = *rest, secret;

	*masked = url_secret(*rest, *cut, &secret);
	if (!*masked) {
		*rest = slice_from(*rest, rest->n);
		return shown;
	}
	shown.n = (size_t)(secret.p - rest->p);
	*rest = slice_from(*rest, shown.n + secret.n);
	*cut &= ~(unsigned)CUT_START;
	return shown;
}
