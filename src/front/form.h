/*
 * application/x-www-form-urlencoded, as queries and forms have it (URL Standard section 5): pairs
 * name=value joined by "&", "+" a blank, %XX any byte.
 */
#ifndef FRONT_FORM_H
#define FRONT_FORM_H

#include "base/buf.h"

/*
 * One pass over text: found[i] becomes the decoded value of names[i], NULL pointer when it is not
 * there; a value that is empty counts as not there (RFC 6749 section 3.1). Decoded into mem, good
 * as long as that is. Names that nobody asked for are skipped, whatever they hold. 0, -EEXIST: a
 * name asked for stands twice, -EBADMSG: a bad escape, a NUL or ill-formed UTF-8 in one, -ENOMEM:
 * mem is full.
 */
int form_pick(struct slice text, const char *const *names, size_t count, struct slice *found,
	struct buf *mem) __attribute__((warn_unused_result));

#endif
