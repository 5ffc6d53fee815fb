/*
 * The sandboxes of one spawn_sandboxes: what the master has told of each, and the answer made of
 * it. Slices are of the job's memory, held, and raw JSON where the name says so.
 */
#ifndef PROXY_BOXES_H
#define PROXY_BOXES_H

#include "proxy/master.h"
#include "proxy/removal.h"

enum { BOX_TOLD_MAX = 400 };

struct box {
	struct doomed end;   /* with the id */
	struct slice object; /* raw: as the master told of it last */
	struct slice token;  /* raw: from the reply that made it; empty: none was given */
	bool token_inside;   /* object has it, too */
	enum life life;
	struct slice reason;     /* why it has failed, as we see it; empty: the master says it */
	char told[BOX_TOLD_MAX]; /* by the master at last: a reason, or else its state */
};

struct boxes {
	struct box *box;
	int made, wanted;
	struct slice error; /* why not all were made; empty: they were */
};

/* The reply that makes sandboxes. NULL, or what is wrong with it. */
const char *boxes_take(struct boxes *b, struct master_call *c);
/* The reply that tells of one. False: it is no object. */
bool box_look(struct box *x, struct master_call *c);
/* Those that still start have failed: for that reason, which is held, and beside it what the master
 * has told of each, if that matters. */
void boxes_give_up(struct boxes *b, struct slice reason, bool and_told);

int boxes_count(const struct boxes *b, enum life life);
/* All that were wanted are started. */
bool boxes_complete(const struct boxes *b);
/* The answers; made in the memory of c's reply. */
enum step boxes_answer(struct boxes *b, struct master_call *c);
enum step boxes_answer_failure(struct boxes *b, struct master_call *c);

#endif
