/*
 * Messages of the DNS: a question for the addresses of a name, and what an answer says to it (RFC
 * 1035, RFC 3596). Knows no descriptor.
 */
#ifndef LOOP_DNS_H
#define LOOP_DNS_H

#include "base/buf.h"
#include "bounds.h"

enum {
	DNS_A = 1,
	DNS_AAAA = 28,
	DNS_QUESTION_MAX = 12 + 255 + 4, /* header, name, type and class */
};

struct dns_found {
	int count;
	unsigned char address[2 * RESOLVED_MAX][16]; /* see base/address.h */
};

/* Puts the question with that id, or fails b: the name, with or without a dot at its end, is none.
 */
void dns_put_question(struct buf *b, unsigned id, struct slice name, unsigned type);

/*
 * Adds the addresses that answer gives to the question, RESOLVED_MAX at most. 0, also with none:
 * the name has no such address. -EBADMSG: not an answer to it, -ENOENT: there is no such name,
 * -EAGAIN: the server cannot say, -EMSGSIZE: it wants to say it over TCP.
 */
int dns_take_answer(struct dns_found *f, struct slice question, struct slice answer)
	__attribute__((warn_unused_result));

#endif
