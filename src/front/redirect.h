/*
 * Redirect URIs: which may be registered, and which of a request is one of them.
 */
#ifndef FRONT_REDIRECT_H
#define FRONT_REDIRECT_H

#include "base/slice.h"

enum redirect_kind {
	REDIRECT_REFUSED,
	REDIRECT_WEB,      /* https */
	REDIRECT_LOOPBACK, /* http to this machine, any port (RFC 8252 section 7.3) */
	REDIRECT_APP,      /* a private-use scheme (section 7.1), such as cursor: */
};

/*
 * At most REDIRECT_MAX bytes of visible ASCII without a fragment. http elsewhere and the schemes a
 * browser acts upon itself (javascript, data, ...) are refused (decision 54).
 */
enum redirect_kind redirect_kind(struct slice uri);
/* Equal byte by byte; of loopback ones the port may differ, as a client listens on another each
 * time. */
bool redirect_same(struct slice registered, struct slice given);
/* What to show a person of where the answer goes: "https://claude.ai", "this machine", "cursor:".
 */
struct slice redirect_shown(struct slice uri);

#endif
