#include "tls/der_put.h"

#include "base/clock.h"

size_t der_open(struct buf *b, enum der_tag tag)
{
	buf_putc(b, (char)tag);
	buf_putc(b, 0); /* the length, when it is known */
	return b->len;
}

/* Lengths above 127 take further bytes, which the value makes room for. */
void der_close(struct buf *b, size_t mark)
{
	size_t n = b->len - mark, more = n < 0x80 ? 0 : n < 0x100 ? 1 : n < 0x10000 ? 2 : 3;

	if (!buf_room(b, more))
		return;
	memmove(b->p + mark + more, b->p + mark, n);
	b->len += more;
	b->p[mark - 1] = (char)(more ? 0x80 | more : n);
	for (size_t i = 0; i < more; i++)
		b->p[mark + i] = (char)(n >> (8 * (more - 1 - i)));
}

void der_put(struct buf *b, enum der_tag tag, struct slice value)
{
	size_t mark = der_open(b, tag);

	buf_slice(b, value);
	der_close(b, mark);
}

void der_put_unsigned(struct buf *b, struct slice number)
{
	size_t mark = der_open(b, DER_INTEGER);

	while (number.n > 1 && number.p[0] == 0)
		number = slice_from(number, 1);
	if (number.n == 0 || number.p[0] & 0x80)
		buf_putc(b, 0);
	buf_slice(b, number);
	der_close(b, mark);
}

void der_put_bits(struct buf *b, struct slice bytes)
{
	size_t mark = der_open(b, DER_BIT_STRING);

	buf_putc(b, 0);
	buf_slice(b, bytes);
	der_close(b, mark);
}

void der_put_time(struct buf *b, int64_t unix_s)
{
	struct utc u;
	size_t mark;

	utc_from(&u, unix_s);
	mark = der_open(b, u.year < 2050 ? DER_UTC_TIME : DER_GENERALIZED_TIME);
	if (u.year >= 2050)
		buf_printf(b, "%02d", u.year / 100);
	buf_printf(b, "%02d%02d%02d%02d%02d%02dZ", u.year % 100, u.month, u.day, u.hour, u.minute,
		u.second);
	der_close(b, mark);
}
