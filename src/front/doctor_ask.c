#include "front/doctor_ask.h"

#include <unistd.h>

#include "base/file.h"
#include "bounds.h"
#include "loop/loop.h"

enum { LINE_MAX = 4 * KIB };

static const struct doctor_config *config;
static struct doctor_answer answer;
static int failed;

/* --- lines --- */

void doctor_line(enum finding f, const char *check, struct slice text, const char *remedy)
{
	static const char *const words[] = {
		[FINE] = "ok", [NOTE] = "note", [FAILED] = "failed", [SKIPPED] = "skipped"
	};
	char mem[LINE_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_printf(&b, "%-7s  %-15s  ", words[f], check);
	buf_slice(&b, text);
	if (remedy) /* a sentence that asks ends with its own mark */
		buf_printf(&b, "%s%s", text.n && text.p[text.n - 1] == '?' ? " " : "; ", remedy);
	buf_putc(&b, '\n');
	failed += f == FAILED;
	failed += write_all(STDOUT_FILENO, buf_all(&b)) < 0;
}

void doctor_say(enum finding f, const char *check, const char *fmt, ...)
{
	char mem[LINE_MAX];
	struct buf b;
	va_list ap;

	buf_over(&b, mem, sizeof(mem));
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	doctor_line(f, check, buf_all(&b), NULL);
}

int doctor_failed(void)
{
	return failed;
}

/* --- calls --- */

int doctor_ask_init(const struct doctor_config *c)
{
	int r = buf_reserve(&answer.body, REPLY_KEPT);

	config = c;
	return r < 0 ? r : buf_reserve(&answer.mem, SCRATCH_MAX);
}

/* What does not fit is dropped, and the body then is no JSON. */
static bool part_take(struct http_call *c, struct slice bytes)
{
	(void)c;
	buf_slice(&answer.body, bytes);
	return true;
}

static void call_done(struct http_call *c)
{
	(void)c;
	loop_stop(0);
}

static void body_parse(void)
{
	struct buf *b = &answer.body;

	answer.d = (struct json){ 0 };
	if (answer.c.failure != HTTP_CALL_OK || b->failed || !b->len)
		return;
	if (json_parse(&answer.d, b->p, b->len, &answer.mem) < 0)
		answer.d = (struct json){ 0 };
}

const struct doctor_answer *doctor_get(struct slice path, bool token)
{
	char mem[LINE_MAX];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	if (token && config->token.n)
		buf_printf(&fields, "Authorization: Bearer %.*s\r\n", SLICE(config->token));
	buf_reset(&answer.body, false);
	buf_reset(&answer.mem, false);
	answer.c = (struct http_call){
		.method = "GET",
		.target = path,
		.fields = buf_all(&fields),
		.limit_ms = config->limit_ms,
		.part = part_take,
		.done = call_done,
	};
	http_call_start(&answer.c);
	loop_run();
	body_parse();
	return &answer;
}

void doctor_put_outcome(const struct doctor_answer *a, struct buf *b)
{
	if (a->c.failure != HTTP_CALL_OK) {
		http_call_put_failure(&a->c, b);
		return;
	}
	buf_printf(b, "answered %d %s", a->c.status, a->c.reason);
	if (a->c.location[0])
		buf_printf(b, " (to %s)", a->c.location);
}
