/*
 * What workspace_install takes as the name of a package: a table of bytes for each world of
 * packages.
 *
 * No shell sees these words, so they cannot do a shell's harm. What must stay true is that a word
 * is never an option of the manager, and that a local file is told apart, because it has to lie
 * inside the workspace. All else that a manager would not understand, it says itself.
 */
#ifndef HOST_INSTALL_WORDS_H
#define HOST_INSTALL_WORDS_H

#include "base/slice.h"

enum install_world { WORLD_NPM, WORLD_PIP, WORLD_APT, WORLD_DNF, WORLD_APK, WORLD_OPKG, WORLDS };

enum install_kind {
	INSTALL_NAME, /* of a package, with a version or what else the world adds to it */
	INSTALL_URL,
	INSTALL_PATH, /* a local file or directory */
};

struct install_word {
	enum install_kind kind;
	struct slice path;   /* of INSTALL_PATH: the word without */
	struct slice extras; /* pip's "[name,name]" behind a path; else empty */
};

struct install_refusal {
	const char *rule; /* "must not hold", "must begin with a letter or a digit", ... */
	struct slice bad; /* the byte or character it is about; or empty */
};

/* word: not empty. All slices point into it. False: refused, and *why says by which rule. */
bool install_word(enum install_world world, struct slice word, struct install_word *is,
	struct install_refusal *why);

#endif
