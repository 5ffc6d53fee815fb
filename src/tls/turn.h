/*
 * One handshake step a turn of the loop. A step may be the signature of an RSA key, which takes
 * milliseconds, on small machines a second: others are served between two of them.
 */
#ifndef TLS_TURN_H
#define TLS_TURN_H

#include <stdbool.h>

/* A field of its owner, zeroed at first; run is set by the owner. */
struct turn {
	struct turn *next;
	bool waits;
	void (*run)(struct turn *t);
};

/* run comes in a later turn of the loop, behind all who have waited longer; once. */
void turn_wait(struct turn *t);
/* It does not come any more. */
void turn_leave(struct turn *t);

#endif
