#include "http/mask.h"

#include "base/str.h"
#include "http/field.h"

#define STARS "***"

/* --- fields --- */

static bool ends_as(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && http_same(slice_from(s, s.n - n), end);
}

static bool field_is_secret(struct slice name)
{
	return http_same(name, "authorization") || http_same(name, "set-cookie") ||
	       ends_as(name, "-token");
}

static struct slice last_word(struct slice s)
{
	size_t i = s.n;

	while (i && s.p[i - 1] != ' ')
		i--;
	return slice_from(s, i);
}

void mask_from(struct mask *m, struct slice fields)
{
	struct slice name, value;

	m->n = 0;
	while (fields.n && m->n < MASK_SECRETS_MAX)
		if (http_field_split(http_line_take(&fields), &name, &value) && value.n)
			m->secret[m->n++] = last_word(value);
}

void mask_put_head(const struct mask *m, struct buf *b, struct slice text)
{
	struct slice line, name, value;

	while (text.n) {
		line = http_line_take(&text);
		if (http_field_split(line, &name, &value) && field_is_secret(name)) {
			mask_put_body(m, b, name); /* a secret may stand anywhere */
			buf_printf(b, ": %s" STARS, str_starts(value, "Bearer ") ? "Bearer " : "");
		} else {
			mask_put_body(m, b, line);
		}
		buf_putc(b, '\n');
	}
}

/* --- secrets wherever they stand --- */

enum { BEGINNING = 4 }; /* fewer characters tell nothing and stand anywhere */

/*
 * How much of text is the secret, or its beginning up to where text ends. escaped: as a JSON
 * encoder may have written it; some escape a slash, too.
 */
static size_t secret_length(struct slice secret, struct slice text, bool escaped)
{
	size_t i = 0, at = 0;

	for (; i < secret.n && at < text.n; i++, at++) {
		if (escaped && text.p[at] == '\\' && at + 1 < text.n &&
			text.p[at + 1] == secret.p[i])
			at++;
		else if (text.p[at] != secret.p[i])
			return 0;
	}
	return i == secret.n || i >= BEGINNING ? at : 0;
}

size_t mask_at(const struct mask *m, struct slice text)
{
	size_t n = 0;

	for (int i = 0; i < m->n && !n; i++) {
		n = secret_length(m->secret[i], text, false);
		if (!n)
			n = secret_length(m->secret[i], text, true);
	}
	return n;
}

/* One character, or a secret. */
static void put_next(const struct mask *m, struct buf *b, struct slice *text)
{
	size_t n = mask_at(m, *text);

	if (n)
		buf_puts(b, STARS);
	else
		buf_putc(b, text->p[0]);
	*text = slice_from(*text, n ? n : 1);
}

/* --- JSON --- */

/* The string that text begins with, quotes included, or what there is of it. */
static struct slice string_at(struct slice text)
{
	size_t i = 1;

	while (i < text.n && text.p[i] != '"')
		i += text.p[i] == '\\' ? 2 : 1;
	return slice_head(text, i + 1);
}

/* Has it "token" in it, or is it one of the names? */
static bool names_secret(const struct mask *m, struct slice string)
{
	static const char word[] = "token";
	struct slice names = m->members, name = string;

	for (; name.n >= sizeof(word) - 1; name = slice_from(name, 1))
		if (http_same(slice_head(name, sizeof(word) - 1), word))
			return true;
	while (names.n) {
		name = str_split(&names, ' ');
		if (name.n && string.n == name.n + 2 && memcmp(string.p + 1, name.p, name.n) == 0)
			return true;
	}
	return false;
}

static bool next_is(struct slice text, char c)
{
	return text.n && text.p[0] == c;
}

static void put_blanks(struct buf *b, struct slice *text)
{
	while (text->n && strchr(" \t\r\n", text->p[0]) && text->p[0]) {
		buf_putc(b, text->p[0]);
		*text = slice_from(*text, 1);
	}
}

/* What a member's colon is followed by: strings, alone or in an array. */
static void put_masked_value(struct buf *b, struct slice *text)
{
	bool array = next_is(*text, '[');

	do {
		if (array) { /* the bracket, later a comma */
			buf_putc(b, text->p[0]);
			*text = slice_from(*text, 1);
		}
		put_blanks(b, text);
		if (!next_is(*text, '"'))
			return;
		buf_puts(b, "\"" STARS "\"");
		*text = slice_from(*text, string_at(*text).n);
		put_blanks(b, text);
	} while (array && next_is(*text, ','));
}

/* A string of JSON; when it is the name of a secret, its value as well. */
static void put_string(const struct mask *m, struct buf *b, struct slice *text)
{
	struct slice string = string_at(*text);
	size_t left = text->n - string.n;
	bool secret = names_secret(m, string);

	while (text->n > left)
		put_next(m, b, text);
	if (!secret || text->n < left)
		return;
	put_blanks(b, text);
	if (!next_is(*text, ':'))
		return;
	buf_putc(b, ':');
	*text = slice_from(*text, 1);
	put_blanks(b, text);
	put_masked_value(b, text);
}

void mask_put_body(const struct mask *m, struct buf *b, struct slice text)
{
	while (text.n && !b->failed) {
		if (text.p[0] == '"')
			put_string(m, b, &text);
		else
			put_next(m, b, &text);
	}
}

/* --- quoting --- */

static void put_printable(struct buf *b, char c)
{
	if (c == '"' || c == '\\')
		buf_printf(b, "\\%c", c);
	else if (c >= ' ' && c < 0x7f)
		buf_putc(b, c);
	else
		buf_printf(b, "\\x%02x", (unsigned char)c);
}

void mask_put_quoted(const struct mask *m, struct buf *b, struct slice text, size_t n)
{
	size_t end = text.n < n ? 0 : text.n - n, secret;

	buf_putc(b, '"');
	while (text.n > end) {
		secret = mask_at(m, text);
		if (secret)
			buf_puts(b, STARS);
		else
			put_printable(b, text.p[0]);
		text = slice_from(text, secret ? secret : 1);
	}
	buf_putc(b, '"');
}
