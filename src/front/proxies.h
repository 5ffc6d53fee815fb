/*
 * Which peers are proxies of ours, so that their forwarded fields count (decision 56).
 */
#ifndef FRONT_PROXIES_H
#define FRONT_PROXIES_H

#include "base/slice.h"

/*
 * list: networks separated by commas, or NULL for loopback. 0, or -EINVAL with the offending word
 * in *bad (too many: the first one that did not fit).
 */
int proxies_setup(const char *list, struct slice *bad) __attribute__((warn_unused_result));
bool proxies_trust(const unsigned char peer[16]);

#endif
