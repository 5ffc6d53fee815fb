#include "base/fmt.h"

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum size { SIZE_INT, SIZE_LONG, SIZE_LLONG, SIZE_SIZE };

/* One conversion on its way; `ap` moves on with every argument taken. */
struct fmt {
	struct fmt_sink *to;
	va_list ap;
	bool left, zero;
	size_t width;
	size_t precision; /* SIZE_MAX: none */
	enum size size;
};

static void put(struct fmt *f, const char *p, size_t n)
{
	if (n > 0)
		f->to->put(f->to, (struct slice){ p, n });
}

static void pad(struct fmt *f, const char *sixteen, size_t used)
{
	size_t left = f->width > used ? f->width - used : 0;

	for (; left > 16; left -= 16)
		put(f, sixteen, 16);
	put(f, sixteen, left);
}

static void put_text(struct fmt *f, const char *p, size_t n)
{
	if (!f->left)
		pad(f, "                ", n);
	put(f, p, n);
	if (f->left)
		pad(f, "                ", n);
}

static void put_str(struct fmt *f)
{
	const char *s = va_arg(f->ap, const char *);

	if (f->precision == SIZE_MAX)
		put_text(f, s ? s : "(null)", s ? strlen(s) : 6);
	else
		put_text(f, s, s ? strnlen(s, f->precision) : 0);
}

static void put_number(struct fmt *f, uint64_t v, unsigned base, bool negative)
{
	char mem[24];
	size_t at = sizeof(mem);

	do {
		mem[--at] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v > 0);
	if (f->zero && !f->left) {
		put(f, "-", negative);
		pad(f, "0000000000000000", sizeof(mem) - at + negative);
		put(f, mem + at, sizeof(mem) - at);
		return;
	}
	if (negative)
		mem[--at] = '-';
	put_text(f, mem + at, sizeof(mem) - at);
}

static void put_signed(struct fmt *f)
{
	int64_t v;

	if (f->size == SIZE_INT)
		v = va_arg(f->ap, int);
	else if (f->size == SIZE_LONG)
		v = va_arg(f->ap, long);
	else if (f->size == SIZE_LLONG)
		v = va_arg(f->ap, long long);
	else
		v = va_arg(f->ap, ssize_t);
	put_number(f, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0);
}

static void put_unsigned(struct fmt *f, unsigned base)
{
	uint64_t v;

	if (f->size == SIZE_INT)
		v = va_arg(f->ap, unsigned);
	else if (f->size == SIZE_LONG)
		v = va_arg(f->ap, unsigned long);
	else if (f->size == SIZE_LLONG)
		v = va_arg(f->ap, unsigned long long);
	else
		v = va_arg(f->ap, size_t);
	put_number(f, v, base, false);
}

static const char *take_size(struct fmt *f, const char *p)
{
	f->size = SIZE_INT;
	if (*p == 'z')
		f->size = SIZE_SIZE;
	else if (p[0] == 'l' && p[1] == 'l')
		f->size = SIZE_LLONG;
	else if (*p == 'l')
		f->size = SIZE_LONG;
	return p + (f->size == SIZE_LLONG ? 2 : f->size != SIZE_INT);
}

static const char *take_digits(size_t *n, const char *p)
{
	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		*n = *n * 10 + (size_t)(*p - '0');
	return p;
}

/* Everything between '%' and the conversion's letter. */
static const char *take_spec(struct fmt *f, const char *p)
{
	int n;

	f->left = f->zero = false;
	for (; *p == '-' || *p == '0'; p++)
		*(*p == '-' ? &f->left : &f->zero) = true;
	p = take_digits(&f->width, p);
	f->precision = SIZE_MAX;
	if (p[0] == '.' && p[1] == '*') {
		n = va_arg(f->ap, int);
		f->precision = n < 0 ? SIZE_MAX : (size_t)n;
		p += 2;
	} else if (p[0] == '.') {
		p = take_digits(&f->precision, p + 1);
	}
	return take_size(f, p);
}

static const char *convert(struct fmt *f, const char *percent)
{
	const char *p = take_spec(f, percent + 1);
	char c;

	switch (*p) {
	case 's':
		put_str(f);
		break;
	case 'c':
		c = (char)va_arg(f->ap, int);
		put_text(f, &c, 1);
		break;
	case 'd':
		put_signed(f);
		break;
	case 'u':
	case 'x':
		put_unsigned(f, *p == 'x' ? 16 : 10);
		break;
	case '%':
		put(f, p, 1);
		break;
	default:
		put(f, percent, (size_t)(p - percent));
		return p;
	}
	return p + 1;
}

void fmt_to(struct fmt_sink *to, const char *fmt, va_list ap)
{
	struct fmt f = { .to = to };
	size_t n;

	va_copy(f.ap, ap);
	while (*fmt) {
		n = (size_t)(strchrnul(fmt, '%') - fmt);
		put(&f, fmt, n);
		fmt += n;
		if (*fmt)
			fmt = convert(&f, fmt);
	}
	va_end(f.ap);
}

struct buf_sink {
	struct fmt_sink sink; /* first: a pointer to it is one to the whole */
	struct buf *b;
};

static void buf_sink_put(struct fmt_sink *to, struct slice part)
{
	buf_slice(((struct buf_sink *)to)->b, part);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	struct buf_sink to = { { buf_sink_put }, b };
	size_t len = b->len;

	fmt_to(&to.sink, fmt, ap);
	if (b->failed) {
		buf_cut(b, len);
		b->failed = true;
	}
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

int str_printf(char *mem, size_t size, const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	buf_over(&b, mem, size - 1);
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	mem[b.len] = '\0';
	return b.failed ? -ENAMETOOLONG : 0;
}
