#include "json/json_check.h"

#include <errno.h>

#include "base/ascii.h"
#include "base/str.h"
#include "json/json_scan.h"
#include "bounds.h"

_Static_assert(JSON_DEPTH_MAX <= 64, "a level is a bit of json_check.objects");

/* What may come next. */
enum state {
	VALUE,         /* any value */
	FIRST_ELEMENT, /* behind '[': a value or ']' */
	FIRST_KEY,     /* behind '{': a key or '}' */
	KEY,           /* behind a comma in an object */
	COLON,
	AFTER, /* behind a value inside a container: comma or the closing bracket */
	ENDED, /* behind the root: blanks */
	STRING,
	UTF8,    /* sub continuation bytes */
	ESCAPE,  /* the letter behind a backslash */
	HEX,     /* sub digits */
	LITERAL, /* the bytes at rest */
	MINUS,   /* first digit of a number */
	ZERO,    /* behind a leading zero: no digit */
	WHOLE,
	POINT, /* first digit of the fraction */
	FRACTION,
	EXPONENT,      /* sign or first digit of the exponent */
	EXPONENT_SIGN, /* its first digit */
	EXPONENT_DIGITS,
	MALFORMED,
	TOO_DEEP,
};

void json_check_init(struct json_check *c)
{
	*c = (struct json_check){ .state = VALUE };
}

static bool is_blank(unsigned char b)
{
	return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

static bool in_object(const struct json_check *c)
{
	return c->objects >> (c->depth - 1) & 1;
}

static int after_value(const struct json_check *c)
{
	return c->depth > 0 ? AFTER : ENDED;
}

static int open_level(struct json_check *c, bool object)
{
	if (c->depth == JSON_DEPTH_MAX)
		return TOO_DEEP;
	c->objects &= ~(UINT64_C(1) << c->depth);
	c->objects |= (uint64_t)object << c->depth;
	c->depth++;
	c->tokens++;
	return object ? FIRST_KEY : FIRST_ELEMENT;
}

static int close_level(struct json_check *c)
{
	c->depth--;
	return after_value(c);
}

static int open_string(struct json_check *c, bool key)
{
	c->key = key;
	c->tokens++;
	return STRING;
}

static int open_literal(struct json_check *c, const char *rest)
{
	c->rest = rest;
	c->tokens++;
	return LITERAL;
}

static int open_number(struct json_check *c, unsigned char b)
{
	c->tokens++;
	return b == '-' ? MINUS : b == '0' ? ZERO : WHOLE;
}

static int value_byte(struct json_check *c, unsigned char b)
{
	switch (b) {
	case '"':
		return open_string(c, false);
	case '{':
	case '[':
		return open_level(c, b == '{');
	case 't':
		return open_literal(c, "rue");
	case 'f':
		return open_literal(c, "alse");
	case 'n':
		return open_literal(c, "ull");
	default:
		return b == '-' || ascii_digit(b) ? open_number(c, b) : MALFORMED;
	}
}

/* A byte between tokens. */
static int gap_byte(struct json_check *c, unsigned char b)
{
	if (is_blank(b))
		return c->state;
	switch (c->state) {
	case FIRST_ELEMENT:
		if (b == ']')
			return close_level(c);
		return value_byte(c, b);
	case FIRST_KEY:
		if (b == '}')
			return close_level(c);
		return b == '"' ? open_string(c, true) : MALFORMED;
	case KEY:
		return b == '"' ? open_string(c, true) : MALFORMED;
	case COLON:
		return b == ':' ? VALUE : MALFORMED;
	case AFTER:
		if (b == ',')
			return in_object(c) ? KEY : VALUE;
		return b == (in_object(c) ? '}' : ']') ? close_level(c) : MALFORMED;
	case ENDED:
		return MALFORMED;
	default:
		return value_byte(c, b);
	}
}

/*
 * The first byte of a sequence longer than one (RFC 3629); what may follow it goes to lo, hi and
 * sub.
 */
static int lead_byte(struct json_check *c, unsigned char b)
{
	if (b < 0xc2 || b > 0xf4)
		return MALFORMED;
	c->lo = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
	c->hi = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
	c->sub = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
	return UTF8;
}

static int string_byte(struct json_check *c, unsigned char b)
{
	if (b == '"')
		return c->key ? COLON : after_value(c);
	if (b == '\\')
		return ESCAPE;
	if (b < 0x20)
		return MALFORMED;
	return b < 0x80 ? STRING : lead_byte(c, b);
}

static int utf8_byte(struct json_check *c, unsigned char b)
{
	if (b < c->lo || b > c->hi)
		return MALFORMED;
	c->lo = 0x80;
	c->hi = 0xbf;
	return --c->sub > 0 ? UTF8 : STRING;
}

static int escape_byte(struct json_check *c, unsigned char b)
{
	switch (b) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return STRING;
	case 'u':
		c->sub = 4;
		return HEX;
	default:
		return MALFORMED;
	}
}

static int hex_byte(struct json_check *c, unsigned char b)
{
	if (ascii_hex(b) < 0)
		return MALFORMED;
	return --c->sub > 0 ? HEX : STRING;
}

static int literal_byte(struct json_check *c, unsigned char b)
{
	if (b != (unsigned char)*c->rest)
		return MALFORMED;
	return *++c->rest ? LITERAL : after_value(c);
}

/*
 * RFC 8259 section 6; what cannot go on a finished number is looked at again as the byte behind it.
 */
static int number_byte(struct json_check *c, unsigned char b)
{
	switch (c->state) {
	case MINUS:
		return b == '0' ? ZERO : ascii_digit(b) ? WHOLE : MALFORMED;
	case POINT:
		return ascii_digit(b) ? FRACTION : MALFORMED;
	case EXPONENT:
		if (b == '+' || b == '-')
			return EXPONENT_SIGN;
		return ascii_digit(b) ? EXPONENT_DIGITS : MALFORMED;
	case EXPONENT_SIGN:
		return ascii_digit(b) ? EXPONENT_DIGITS : MALFORMED;
	case ZERO:
		break;
	default:
		if (ascii_digit(b))
			return c->state;
	}
	if (b == '.' && (c->state == ZERO || c->state == WHOLE))
		return POINT;
	if ((b == 'e' || b == 'E') && c->state != EXPONENT_DIGITS)
		return EXPONENT;
	c->state = after_value(c);
	return gap_byte(c, b);
}

static int next_state(struct json_check *c, unsigned char b)
{
	switch (c->state) {
	case STRING:
		return string_byte(c, b);
	case UTF8:
		return utf8_byte(c, b);
	case ESCAPE:
		return escape_byte(c, b);
	case HEX:
		return hex_byte(c, b);
	case LITERAL:
		return literal_byte(c, b);
	default:
		return c->state < STRING ? gap_byte(c, b) : number_byte(c, b);
	}
}

/*
 * The good part of a string that can be skipped without a look at each byte: plain runs, whole
 * UTF-8 sequences.
 */
static size_t string_run(struct slice s)
{
	size_t i = 0;
	int n;

	for (;;) {
		i += json_plain_run(slice_from(s, i));
		if (i == s.n || (unsigned char)s.p[i] < 0x80)
			return i;
		n = utf8_quick(slice_from(s, i));
		if (n < 0)
			return i;
		i += (size_t)n;
	}
}

static int error_of(const struct json_check *c)
{
	return c->state == TOO_DEEP ? -E2BIG : c->state == MALFORMED ? -EBADMSG : 0;
}

static bool in_string(int state)
{
	return state >= STRING && state <= HEX;
}

/* The byte at b has just led from state before to the present one. */
static void tell_byte(struct json_check *c, int before, const char *b)
{
	enum json_event e = JSON_MARK;

	if (in_string(before))
		e = in_string(c->state) ? JSON_TEXT : JSON_UNQUOTE;
	else if (is_blank((unsigned char)*b))
		return;
	else if (c->state == STRING)
		e = JSON_QUOTE;
	else if (*b == '{' || *b == '[')
		e = JSON_OPEN;
	else if (*b == '}' || *b == ']')
		e = JSON_CLOSE;
	c->told(c, e, (struct slice){ b, 1 });
}

/* Takes the run of a string's text at the start of in; gives its length. */
static size_t run_pass(struct json_check *c, struct slice in)
{
	size_t n = string_run(in);

	if (c->told && n > 0)
		c->told(c, JSON_TEXT, slice_head(in, n));
	return n;
}

int json_check_feed(struct json_check *c, struct slice in)
{
	size_t i = 0;
	int before;

	while (i < in.n && error_of(c) == 0) {
		if (c->state == STRING)
			i += run_pass(c, slice_from(in, i));
		if (i == in.n)
			break;
		before = c->state;
		c->state = next_state(c, (unsigned char)in.p[i]);
		if (error_of(c) != 0)
			break;
		if (c->told)
			tell_byte(c, before, in.p + i);
		i++;
	}
	c->offset += i;
	return error_of(c);
}

int json_check_end(struct json_check *c)
{
	if (error_of(c) != 0)
		return error_of(c);
	if (c->depth == 0 && (c->state == ZERO || c->state == WHOLE || c->state == FRACTION ||
				     c->state == EXPONENT_DIGITS))
		c->state = ENDED;
	if (c->state != ENDED)
		c->state = MALFORMED;
	return error_of(c);
}
