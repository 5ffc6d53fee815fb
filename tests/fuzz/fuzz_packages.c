/*
 * The packages of workspace_install: whatever is taken as one holds no byte with which a shell does
 * more than pass it on, is no option, and says where a path or URL is in it.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "host/install_words.h"

static bool holds(struct slice s, const char *bytes)
{
	for (; *bytes; bytes++)
		if (str_has(s, *bytes))
			return true;
	return false;
}

static bool holds_text(struct slice s, const char *text)
{
	for (; s.n > 0; s = slice_from(s, 1))
		if (str_starts(s, text))
			return true;
	return false;
}

static bool inside(struct slice part, struct slice whole)
{
	return part.n <= whole.n && part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

static void name_leads_nowhere(struct slice word)
{
	MUST(word.p[0] != '.' && word.p[0] != '/' && word.p[0] != '~');
	MUST(!holds_text(word, "://") && !holds_text(word, "/../") && !holds_text(word, "~/"));
	MUST(!holds_text(word, "@/") && !holds_text(word, "@.") && !holds_text(word, ":/"));
	MUST(!holds(word, "&?"));
}

static bool ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && str_starts(slice_from(s, s.n - n), end);
}

static void url_is_none_of_a_file(struct slice word)
{
	struct slice before = word;

	before.n = 0;
	while (!str_starts(slice_from(word, before.n), "://"))
		before.n++;
	MUST(ends_with(before, "http") || ends_with(before, "https") || ends_with(before, "git") ||
		ends_with(before, "ssh"));
	MUST(!str_starts(slice_from(word, before.n), "://-"));
}

static void path_is_the_word(struct slice word, const struct install_word *is)
{
	MUST(is->path.n > 0 && is->path.p == word.p && is->path.n + is->extras.n == word.n);
	MUST(is->extras.n == 0 || is->extras.p == word.p + is->path.n);
	MUST(!holds(is->path, "&?#[]<>*"));
}

static void taken(struct slice word, const struct install_word *is)
{
	for (size_t i = 0; i < word.n; i++)
		MUST((unsigned char)word.p[i] > ' ' && word.p[i] != 0x7f);
	MUST(word.p[0] != '-' && !holds(word, ";|`$(){}'\"\\"));
	if (is->kind == INSTALL_NAME)
		name_leads_nowhere(word);
	else if (is->kind == INSTALL_URL)
		url_is_none_of_a_file(word);
	else
		path_is_the_word(word, is);
}

static void judged(struct slice word)
{
	struct install_refusal why;
	struct install_word is;

	for (enum install_world w = 0; w < WORLDS; w++)
		if (install_word(w, word, &is, &why))
			taken(word, &is);
		else
			MUST(why.rule && (why.bad.n == 0 || inside(why.bad, word)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = { (const char *)data, size }, rest = s, word;
	size_t words = 0, bytes = 0;

	while ((word = str_word(&rest)).n > 0) {
		MUST(inside(word, s) && !holds(word, " \t\r\n"));
		judged(word);
		words += word.n;
	}
	MUST(rest.n == 0);
	for (size_t i = 0; i < size; i++)
		bytes += !holds(LIT(" \t\r\n"), (char[]){ s.p[i], '\0' }) || s.p[i] == '\0';
	MUST(words == bytes);
	return 0;
}
