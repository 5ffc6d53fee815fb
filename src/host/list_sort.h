/*
 * Names in the order of their bytes, by a heap sort of our own: in place, in steps, never slower
 * than n log n.
 */
#ifndef HOST_LIST_SORT_H
#define HOST_LIST_SORT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "bounds.h"

struct list_sort {
	const char **names; /* the caller's; sorted when all is done */
	size_t n;
	size_t heaped; /* names[heaped..n) already form a heap */
	size_t left;   /* names[left..n) are sorted */
};

void list_sort_start(struct list_sort *s, const char **names, size_t n);
/* Does at most that many steps of log n comparisons; true when the names are sorted. */
bool list_sort_more(struct list_sort *s, size_t steps);

/*
 * The first LIST_MAX names, in order, of any number that are offered: memory of one size for a
 * directory of any size.
 */
struct list_top {
	const char *names[LIST_MAX]; /* into slots */
	size_t n;
	bool more; /* some were left out */
	struct {
		unsigned char type; /* what the caller wants to remember of it */
		char name[NAME_MAX + 1];
	} slots[LIST_MAX];
};

/* A zeroed list_top is empty. Names longer than NAME_MAX are cut. */
void list_top_offer(struct list_top *t, const char *name, unsigned char type);
void list_top_sort(struct list_top *t);
/* The type remembered for names[i]. */
unsigned char list_top_type(const struct list_top *t, size_t i);

#endif
