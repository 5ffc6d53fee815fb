/*
 * Names that git takes for branches, tags and commits, checked before git sees them
 * (git-check-ref-format(1)). Each function gives NULL when the name may be used, else the rule that
 * it breaks, as the end of a sentence that starts with the argument's name.
 */
#ifndef HOST_GIT_REF_H
#define HOST_GIT_REF_H

#include "base/slice.h"

/* A branch to be made or cloned. */
const char *git_branch_rule(struct slice name);
/* A branch or tag to push or pull, or HEAD; never a refspec, which could force or delete. */
const char *git_refspec_rule(struct slice name);
/*
 * What may be checked out: a branch, tag or commit, also with ~n and ^n behind it, or "-", the one
 * before.
 */
const char *git_checkout_rule(struct slice name);

#endif
