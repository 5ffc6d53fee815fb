/*
 * Who may: the bearer token, compared in constant time, and how often.
 */
#ifndef FRONT_AUTH_H
#define FRONT_AUTH_H

#include <stdint.h>

#include "base/slice.h"

enum { TOKEN_MIN = 16 }; /* bytes; a shorter one could be guessed */

/*
 * The MCP token, borrowed until the next call; it is at least TOKEN_MIN bytes. Called again after a
 * rotation, which ends every sign-in.
 */
void auth_set_token(struct slice token);
/* Is it the MCP token? What the authorize page asks for. */
bool auth_is_token(struct slice given);

/*
 * Does the value of an Authorization field carry the token, or an access token that OAuth gave for
 * it? The scheme is Bearer in any case,
 * blanks around the token are dropped. value.p NULL: no field. Takes the same time for every wrong
 * token of one length.
 */
bool auth_bearer_ok(struct slice value);

/* SESSION_AUTH_TOKEN, borrowed likewise; never set: empty. */
void auth_set_session_token(struct slice token);
bool auth_session_token(void); /* is there one? */
/* As auth_bearer_ok for the sessions API: with a token of its own, that one alone (decision 59). */
bool auth_session_ok(struct slice value);

/* --- rate.c: a fixed window of a minute a caller, in a bounded table that evicts who was quiet
 * longest --- */

/* most: requests a minute a caller, 0: no limit. */
void rate_setup(int64_t most);
/*
 * Who shares an address with strangers (a proxy that names nobody, the machines of a connector's
 * maker) is not shut out by what they ask for.
 */
enum rate_caller { RATE_STRANGER, RATE_HOLDER, RATE_CALLERS };
/*
 * Counts a request of the caller: peer (16 bytes, IPv6 by its first 8, IPv4 whole) with or without
 * a valid credential. 0, or the seconds after which it may come again.
 */
int rate_request(enum rate_caller who, const unsigned char peer[16]);
/*
 * Failed credentials are counted apart, by peer: after a few, seconds that double each time must
 * pass before the next try is looked at (decision 56: a valid bearer is never refused for the
 * failures of others). Ask before checking a credential that turns out wrong: 0, or seconds to
 * wait.
 */
int rate_failure(const unsigned char peer[16]);

#endif
