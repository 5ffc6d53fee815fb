/*
 * Values of Mcp-* header fields: plain, or "=?base64?" + base64 + "?=" where the text is not plain
 * ASCII.
 */
#ifndef FRONT_HEADER_TEXT_H
#define FRONT_HEADER_TEXT_H

#include "base/buf.h"

/* Puts the decoded value into out. False: encoded badly (alphabet, padding), or too long for out.
 */
bool header_text(struct slice value, struct buf *out);

#endif
