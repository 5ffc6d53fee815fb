#include "loop/dns.h"

#include <errno.h>

#include "base/address.h"
#include "base/str.h"

enum {
	HEADER = 12,
	LABEL_MAX = 63, /* a longer one is a pointer to where the name goes on */
	RECORD = 10,    /* of an answer, behind its name: type, class, TTL, length */
	RESPONSE = 0x80,
	TRUNCATED = 0x02,
	NO_SUCH_NAME = 3,
};

static void put_number(struct buf *b, unsigned n)
{
	buf_putc(b, (char)(n >> 8));
	buf_putc(b, (char)n);
}

static unsigned number_at(struct slice s, size_t at)
{
	return (unsigned)(unsigned char)s.p[at] << 8 | (unsigned char)s.p[at + 1];
}

void dns_put_question(struct buf *b, unsigned id, struct slice name, unsigned type)
{
	struct slice label;

	put_number(b, id);
	buf_slice(b, LIT("\1\0\0\1\0\0\0\0\0\0")); /* the server asks others; one question */
	do {
		label = str_split(&name, '.');
		if (label.n == 0 || label.n > LABEL_MAX)
			b->failed = true;
		buf_putc(b, (char)label.n);
		buf_slice(b, label);
	} while (name.n > 0);
	buf_putc(b, 0);
	put_number(b, type);
	put_number(b, 1); /* class IN */
}

/* Where the name at `at` ends; behind the message when it has no end. */
static size_t name_end(struct slice m, size_t at)
{
	unsigned n;

	while (at < m.n) {
		n = (unsigned char)m.p[at];
		if (n > LABEL_MAX)
			return at + 2;
		at += n + 1;
		if (n == 0)
			return at;
	}
	return m.n + 1;
}

static void address_take(struct dns_found *f, struct slice data)
{
	unsigned char *a = f->address[f->count];

	if (data.n == 16)
		memcpy(a, data.p, 16);
	else if (data.n == 4)
		address_from_v4((const unsigned char *)data.p, a);
	else
		return;
	f->count++;
}

/*
 * All records of that type, whatever name they have: aliases stand before them. Is the message
 * whole?
 */
static bool records_take(struct dns_found *f, struct slice m, size_t at, unsigned type)
{
	int most = f->count + RESOLVED_MAX;
	unsigned is, size;

	for (unsigned left = number_at(m, 6); left > 0; left--) {
		at = name_end(m, at) + RECORD;
		if (at > m.n)
			return false;
		is = number_at(m, at - RECORD);
		size = number_at(m, at - 2);
		if (size > m.n - at)
			return false;
		if (is == type && f->count < most)
			address_take(f, (struct slice){ m.p + at, size });
		at += size;
	}
	return true;
}

static bool answers(struct slice question, struct slice m)
{
	return m.n >= question.n && memcmp(m.p, question.p, 2) == 0 && (m.p[2] & RESPONSE) &&
	       number_at(m, 4) == 1 &&
	       str_same((struct slice){ m.p + HEADER, question.n - HEADER },
		       slice_from(question, HEADER));
}

int dns_take_answer(struct dns_found *f, struct slice question, struct slice m)
{
	int before = f->count, code;
	bool whole;

	if (!answers(question, m))
		return -EBADMSG;
	code = m.p[3] & 15;
	if (code != 0)
		return code == NO_SUCH_NAME ? -ENOENT : -EAGAIN;
	whole = records_take(f, m, question.n, number_at(question, question.n - 4));
	if (f->count > before)
		return 0;
	if (m.p[2] & TRUNCATED)
		return -EMSGSIZE;
	return whole ? 0 : -EAGAIN;
}
