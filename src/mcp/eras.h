/*
 * Protocol revisions and what differs between them.
 */
#ifndef MCP_ERAS_H
#define MCP_ERAS_H

#include "json/json_write.h"

struct era {
	const char *version;
	bool modern; /* stateless: _meta on every request, resultType and serverInfo on every result
		      */
	bool batch;  /* JSON-RPC arrays are served */
};

extern const struct era eras[]; /* newest first, ended by a NULL version */

/* The row of that revision, or NULL. */
const struct era *era_find(struct slice version);
/* The one modern revision. */
const struct era *era_modern(void);
/* The newest legacy revision: the answer to a client that asks for one we do not know. */
const struct era *era_legacy(void);
/* "supportedVersions" and the like: all revisions as an array. */
void era_list(struct jw *w, const char *key);

#endif
