/*
 * Names of users and groups from /etc/passwd and /etc/group, as `ls -l` shows them. A number
 * without a name is shown as a number.
 */
#ifndef HOST_OWNER_NAMES_H
#define HOST_OWNER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

enum { OWNER_NAME_MAX = 32, OWNERS_KEPT = 16 };

struct owner_name {
	bool used, group;
	bool number; /* there is no name: it is the id in digits */
	uint32_t id;
	char name[OWNER_NAME_MAX + 1];
};

/* A small memory of what was looked up; for one listing, so that it never grows old. Zero it to
 * begin. */
struct owner_names {
	struct owner_name kept[OWNERS_KEPT];
	unsigned next; /* the one to be forgotten first */
};

/* Good until OWNERS_KEPT other ids were asked for. */
const struct owner_name *owner_name(struct owner_names *o, bool group, uint32_t id);

/* The name in one line "name:x:id:..." of such a file; empty when the line is about another id, or
 * about none. */
struct slice owner_in_line(struct slice line, uint32_t id);

#endif
