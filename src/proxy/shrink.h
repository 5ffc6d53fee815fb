/*
 * A master's reply while it arrives: checked as JSON, without its blanks, with long strings cut, so
 * that memory does not grow with what a command in a sandbox prints. Takes bytes in pieces of any
 * size, knows no descriptor; a hook of json_check.
 *
 * A value that is a string of more than `keep` bytes keeps its first and last half, joined by
 * "\n[... N bytes omitted ...]\n", and its object gets a member "truncated": {"<member>": <bytes
 * it had>}. Bytes are those of the text that the string stands for, whatever escapes it is written
 * in. Cuts fall between characters. Names of members are never cut, and an object that has a member
 * "truncated" of its own gets none from us.
 *
 * Numbers, escapes and the order of members stay as they came. Ill-formed UTF-8 becomes U+FFFD.
 */
#ifndef PROXY_SHRINK_H
#define PROXY_SHRINK_H

#include "base/buf.h"
#include "json/json_check.h"

enum { SHRINK_CUTS = 16 }; /* strings cut in objects still open, of which we keep the size */

struct shrink {
	struct json_check check;
	struct buf *out; /* the owner's; empty at the start */
	size_t keep, most;

	/* What stands in out, good after shrink_end. */
	char root;  /* its first byte */
	int arrays; /* the root is an object: how many of its members are arrays ... */
	size_t array_from, array_to; /* ... and where the last of them is */

	/* private */
	unsigned char carry[8]; /* an unfinished UTF-8 sequence */
	unsigned carried;
	bool value;          /* reading a string that is a value */
	size_t from;         /* where its text begins in out */
	size_t tail;         /* where its last half begins, 0: nothing was left out yet */
	uint64_t had;        /* bytes of its text that stand in out no more, or before tail */
	uint64_t omitted;    /* of these the ones that are gone */
	size_t key, key_end; /* the last name of a member */
	uint64_t own;        /* bit d: the object at depth d has a member "truncated" */
	struct shrink_cut {
		int depth;
		size_t key, key_end;
		uint64_t had;
	} cuts[SHRINK_CUTS];
	int cut_count;
};

/* What a buf needs beside `most` for a text in the making. */
size_t shrink_room(size_t keep);

/* keep: at least 64. most: bytes the shrunk text may have. out is empty. */
void shrink_init(struct shrink *s, struct buf *out, size_t keep, size_t most);
/* 0; -EBADMSG: not JSON; -ELOOP: nested too deeply; -E2BIG: over most; -ENOMEM. Errors stay. */
int shrink_feed(struct shrink *s, struct slice in) __attribute__((warn_unused_result));
/* The reply is complete: as above. Then out holds exactly one JSON value. */
int shrink_end(struct shrink *s) __attribute__((warn_unused_result));

#endif
