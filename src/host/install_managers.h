/*
 * The package managers that workspace_install knows, as a table.
 */
#ifndef HOST_INSTALL_MANAGERS_H
#define HOST_INSTALL_MANAGERS_H

#include "host/install_words.h"

enum {
	INSTALL_WAYS_MAX = 3,
	INSTALL_WAY_WORDS = 5,
};

/* A program and the words before the packages, ended by NULL. */
struct install_way {
	const char *words[INSTALL_WAY_WORDS];
};

struct install_manager {
	const char *name; /* as clients write it */
	enum install_world world;
	struct install_way ways[INSTALL_WAYS_MAX]; /* the first whose program is here */
	bool root;                                 /* only root can use it */
	const char *refresh;    /* the command that fetches its lists of packages, or NULL */
	const char *const *env; /* as in struct child */
};

/* "a|b|c": what the argument may be, for struct arg. */
#define INSTALL_MANAGERS "npm|bun|pip|pip3|dnf|apt|auto|opkg|apk"
/* What "auto" looks for, in this order. */
#define INSTALL_AUTO "bun|npm|opkg|apk"

/* NULL: none of that name. */
const struct install_manager *install_manager(struct slice name);
/* How to call it here, along PATH; NULL: it is not installed. */
const struct install_way *install_way(const struct install_manager *m);

#endif
