/*
 * What the doctor has: lines that are printed at once, and calls that are waited for.
 */
#ifndef FRONT_DOCTOR_ASK_H
#define FRONT_DOCTOR_ASK_H

#include "front/doctor.h"
#include "json/json.h"

enum finding { FINE, NOTE, FAILED, SKIPPED };

/* One line; text and what to do about it (NULL: nothing) are joined. */
void doctor_line(enum finding f, const char *check, struct slice text, const char *remedy);
void doctor_say(enum finding f, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int doctor_failed(void); /* how many lines were FAILED */

/* The answer to the latest doctor_get. */
struct doctor_answer {
	struct http_call c;
	struct json d; /* n 0: the body is no JSON, or over the bound */
	struct buf body, mem;
};

int doctor_ask_init(const struct doctor_config *c) __attribute__((warn_unused_result));
/* GET path, with the API token or without, waited for. The answer is good until the next one. */
const struct doctor_answer *doctor_get(struct slice path, bool token);
/* Did the call come back with 2xx? */
static inline bool doctor_good(const struct doctor_answer *a)
{
	return a->c.failure == HTTP_CALL_OK && a->c.status / 100 == 2;
}
/* "answered 404 Not Found", "answered 302 Found (to https://...)", or the failure's sentence. */
void doctor_put_outcome(const struct doctor_answer *a, struct buf *b);

#endif
