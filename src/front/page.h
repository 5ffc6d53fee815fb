/*
 * The pages for people: plain HTML and CSS out of this file, no script, nothing from elsewhere. All
 * text that comes from outside is escaped here.
 */
#ifndef FRONT_PAGE_H
#define FRONT_PAGE_H

#include "base/buf.h"

/* Text of others, as the content of an element or a quoted attribute. Ill-formed UTF-8 and controls
 * become U+FFFD. */
void page_text(struct buf *b, struct slice text);

/* Everything up to the content of <main>, and what comes after it. */
void page_begin(struct buf *b, const char *title);
void page_end(struct buf *b);

/* A page that only says something: why a sign-in cannot go on. text: further sentences. */
void page_message(struct buf *b, const char *title, const char *text);

struct page_field {
	const char *name; /* NULL ends the array */
	struct slice value;
};

/* The page that asks for the token (RFC 6749 section 3.1). */
struct page_authorize {
	struct slice client;  /* what the client calls itself; may be empty */
	struct slice goes_to; /* where the answer goes, in words or as an origin */
	bool to_this_machine; /* goes_to is a program on the reader's own machine */
	struct slice server;  /* public URL */
	const char *problem;  /* why it is shown again, or NULL */
	const struct page_field *hidden;
};
/* What a client will be able to do with the tools that are served. */
void page_put_powers(struct buf *b);
void page_put_authorize(struct buf *b, const struct page_authorize *p);

#endif
