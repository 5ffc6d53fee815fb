#include "host/list_sort.h"

#include <string.h>

static bool above(const char *a, const char *b)
{
	return strcmp(a, b) > 0; /* libc compares as unsigned bytes */
}

static void swap(const char **a, const char **b)
{
	const char *t = *a;

	*a = *b;
	*b = t;
}

/* The name at i goes down until none below it is greater. */
static void sift_down(const char **v, size_t n, size_t i)
{
	size_t child;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && above(v[child + 1], v[child]))
			child++;
		if (!above(v[child], v[i]))
			return;
		swap(&v[child], &v[i]);
	}
}

static void sift_up(const char **v, size_t i)
{
	size_t parent;

	for (; i > 0; i = parent) {
		parent = (i - 1) / 2;
		if (!above(v[i], v[parent]))
			return;
		swap(&v[i], &v[parent]);
	}
}

void list_sort_start(struct list_sort *s, const char **names, size_t n)
{
	*s = (struct list_sort){ names, n, n / 2, n };
}

bool list_sort_more(struct list_sort *s, size_t steps)
{
	for (; s->heaped > 0 && steps > 0; steps--)
		sift_down(s->names, s->n, --s->heaped);
	for (; s->heaped == 0 && s->left > 1 && steps > 0; steps--) {
		swap(&s->names[0], &s->names[--s->left]);
		sift_down(s->names, s->left, 0);
	}
	return s->heaped == 0 && s->left <= 1;
}

/* Where the name at the top of the heap lies: its slot is free once the name has to go. */
static size_t slot_of(const struct list_top *t, const char *name)
{
	return (size_t)(name - t->slots[0].name) / sizeof(t->slots[0]);
}

static void put_slot(struct list_top *t, size_t slot, const char *name, unsigned char type)
{
	size_t n = strnlen(name, NAME_MAX);

	memcpy(t->slots[slot].name, name, n);
	t->slots[slot].name[n] = '\0';
	t->slots[slot].type = type;
}

void list_top_offer(struct list_top *t, const char *name, unsigned char type)
{
	if (t->n < LIST_MAX) {
		put_slot(t, t->n, name, type);
		t->names[t->n] = t->slots[t->n].name;
		sift_up(t->names, t->n++);
		return;
	}
	t->more = true;
	if (above(name, t->names[0]))
		return;
	put_slot(t, slot_of(t, t->names[0]), name, type);
	sift_down(t->names, t->n, 0);
}

void list_top_sort(struct list_top *t)
{
	struct list_sort s;

	list_sort_start(&s, t->names, t->n);
	while (!list_sort_more(&s, LIST_MAX))
		;
}

unsigned char list_top_type(const struct list_top *t, size_t i)
{
	return t->slots[slot_of(t, t->names[i])].type;
}
