/*
 * Texts that only this server can have made: payload and HMAC-SHA256, each in base64url, joined by
 * a dot. Nothing is stored; whoever brings one back shows what we once wrote.
 *
 * Each kind has a key of its own, derived from the MCP token, so that one kind is never taken for
 * another and none helps to guess the token (decision 14). A new token ends every capsule.
 */
#ifndef FRONT_CAPSULE_H
#define FRONT_CAPSULE_H

#include "base/buf.h"

enum capsule_kind {
	CAPSULE_CLIENT,  /* client_id */
	CAPSULE_ACCESS,  /* access token */
	CAPSULE_REFRESH, /* refresh token */
	CAPSULE_KINDS
};

/* Derives the keys. Called again after a rotation. */
void capsule_keys(struct slice token);

void capsule_put(struct buf *b, enum capsule_kind kind, struct slice payload);
/*
 * The payload of a text of that kind, appended to mem, where it may be written to (json_parse). 0,
 * -EBADMSG: not ours, of another kind or altered, -ENOMEM: mem is full.
 */
int capsule_open(struct buf *mem, enum capsule_kind kind, struct slice text, struct slice *payload)
	__attribute__((warn_unused_result));

/* The access tokens of the reference server (host-tools contract): "mac.payload", the token itself
 * being the key. As capsule_open. */
int capsule_open_reference(struct buf *mem, struct slice token, struct slice text,
	struct slice *payload) __attribute__((warn_unused_result));

#endif
