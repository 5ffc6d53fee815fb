#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "bounds.h"

enum { ALIGN = 16 }; /* good for every type of the eight targets */

static size_t budget = MEM_BUDGET_MAX;
static size_t opened;
static bool overdraft;

void mem_set_budget(size_t bytes)
{
	budget = bytes;
}

size_t mem_budget(void)
{
	return budget;
}

size_t mem_opened(void)
{
	return opened;
}

void mem_overdraft(bool on)
{
	overdraft = on;
}

static size_t budget_left(void)
{
	if (overdraft)
		return SIZE_MAX;
	return opened < budget ? budget - opened : 0;
}

static size_t round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

/* Known only at run time: 4 KiB mostly, 16 or 64 KiB on some arm64 and mips kernels. */
static size_t page_size(void)
{
	static size_t size;

	if (size == 0)
		size = getauxval(AT_PAGESZ);
	if (size == 0)
		size = 4096;
	return size;
}

/* What stays open after a reset and is not charged. */
static size_t keep_size(const struct buf *b)
{
	return at_most(round_up(BUF_KEEP, page_size()), b->max);
}

static size_t charged(const struct buf *b, size_t cap)
{
	size_t keep = keep_size(b);

	return cap > keep ? cap - keep : 0;
}

static void note_high(struct buf *b)
{
	if (b->high < b->len)
		b->high = b->len;
}

int buf_reserve(struct buf *b, size_t max)
{
	void *p;

	*b = (struct buf){ 0 };
	if (max == 0 || max > SIZE_MAX / 2)
		return -ENOMEM;
	p = mmap(NULL, round_up(max, page_size()), PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	b->p = p;
	b->max = max;
	return 0;
}

bool buf_ready(struct buf *b, size_t max)
{
	return b->p || buf_reserve(b, max) == 0;
}

void buf_release(struct buf *b)
{
	if (b->p && !b->fixed) {
		opened -= charged(b, b->cap);
		munmap(b->p, round_up(b->max, page_size()));
	}
	*b = (struct buf){ 0 };
}

void buf_over(struct buf *b, void *mem, size_t size)
{
	*b = (struct buf){ .p = mem, .cap = size, .max = size, .fixed = true };
}

/* Makes cap the first size, of the comfortable and the exact one, that the budget allows. */
static bool open_pages(struct buf *b, size_t need)
{
	size_t keep = keep_size(b), page = page_size();
	size_t from = round_up(b->cap, page), cap, more;

	cap = need <= keep ? keep : at_most(round_up(need, round_up(BUF_STEP, page)), b->max);
	if (charged(b, cap) - charged(b, b->cap) > budget_left())
		cap = at_most(round_up(need, page), b->max);
	more = charged(b, cap) - charged(b, b->cap);
	if (more > budget_left())
		return false;
	if (round_up(cap, page) > from &&
		mprotect(b->p + from, round_up(cap, page) - from, PROT_READ | PROT_WRITE) < 0)
		return false;
	b->cap = cap;
	opened += more;
	return true;
}

bool buf_room(struct buf *b, size_t n)
{
	if (b->failed)
		return false;
	if (n <= b->cap - b->len)
		return true;
	if (n > b->max - b->len || !open_pages(b, b->len + n)) {
		b->failed = true;
		return false;
	}
	return true;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0 || !buf_room(b, n))
		return;
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	if (buf_room(b, 1))
		b->p[b->len++] = c;
}

void buf_slice(struct buf *b, struct slice s)
{
	buf_put(b, s.p, s.n);
}

void *buf_alloc(struct buf *b, size_t n)
{
	size_t pad = -((uintptr_t)b->p + b->len) & (ALIGN - 1);
	void *p;

	if (!b->p || n > b->max) {
		b->failed = true;
		return NULL;
	}
	if (!buf_room(b, pad + n))
		return NULL;
	p = b->p + b->len + pad;
	memset(p, 0, n);
	b->len += pad + n;
	return p;
}

void buf_cut(struct buf *b, size_t len)
{
	note_high(b);
	b->len = at_most(len, b->len);
	b->failed = false;
}

void buf_drop(struct buf *b, size_t n)
{
	note_high(b);
	n = at_most(n, b->len);
	b->len -= n;
	if (n > 0 && b->len > 0)
		memmove(b->p, b->p + n, b->len);
}

/* Pages above `stay` go back to the kernel; should it refuse, they stay open and charged. */
static void close_pages(struct buf *b, size_t stay)
{
	size_t end = round_up(b->cap, page_size());
	void *p = mmap(b->p + stay, end - stay, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED)
		return;
	opened -= charged(b, b->cap) - charged(b, stay);
	b->cap = stay;
}

void buf_reset(struct buf *b, bool keep)
{
	size_t stay = keep ? keep_size(b) : 0;

	note_high(b);
	if (!b->fixed && b->cap > stay)
		close_pages(b, stay);
	if (b->cap > 0)
		explicit_bzero(b->p, at_most(b->high, b->cap));
	b->len = 0;
	b->high = 0;
	b->failed = false;
}
