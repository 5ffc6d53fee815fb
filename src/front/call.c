#include "front/call.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "mcp/rpc.h"

/* Who does not read the answer has no use for a complaint, either. */
static void print(int fd, struct slice s)
{
	(void)!write_all(fd, s);
}

static void print_string(const struct json *d, int at, int fd)
{
	struct json copy = *d;
	struct slice text;

	if (json_str(&copy, at, &text) < 0)
		return;
	print(fd, text);
	if (!text.n || text.p[text.n - 1] != '\n')
		print(fd, LIT("\n"));
}

static void print_content(const struct json *d, int content)
{
	for (int at = json_first(d, content); at >= 0; at = json_next(d, content, at))
		print_string(d, json_get(d, at, "text"), STDOUT_FILENO);
}

/* The answer is ours, so it has the members looked for here. */
static int print_answer(struct job *j)
{
	struct json d;
	int result;

	buf_cut(&j->mem, 0); /* what the call needed is not needed to read its answer */
	if (json_parse(&d, j->out.p, j->out.len, &j->mem) < 0)
		return 1;
	result = json_get(&d, 0, "result");
	if (result < 0) {
		print(STDERR_FILENO, LIT("sandstorm-mcp: "));
		print_string(&d, json_get(&d, json_get(&d, 0, "error"), "message"), STDERR_FILENO);
		return 1;
	}
	print_content(&d, json_get(&d, result, "content"));
	return json_type(&d, json_get(&d, result, "isError")) == JSON_TRUE;
}

static void call_event(struct job *j, struct slice message)
{
	(void)j, (void)message;
}

static void call_reply(struct job *j)
{
	int status = print_answer(j);

	job_free(j);
	loop_stop(status);
}

static bool is_object(struct job *j, const char *arguments)
{
	struct json d;

	buf_puts(&j->text, arguments);
	return json_parse(&d, j->text.p, j->text.len, &j->mem) == 0 &&
	       json_type(&d, 0) == JSON_OBJECT;
}

static void put_request(struct job *j, const char *tool, const char *arguments)
{
	struct jw w;

	buf_cut(&j->text, 0);
	jw_init(&w, &j->text);
	jw_object(&w, NULL);
	jw_puts(&w, "jsonrpc", "2.0");
	jw_int(&w, "id", 1);
	jw_puts(&w, "method", "tools/call");
	jw_object(&w, "params");
	jw_puts(&w, "name", tool);
	jw_raw(&w, "arguments", slice_of(arguments));
	jw_close(&w);
	jw_close(&w);
}

int call_start(const char *tool, const char *arguments)
{
	static const struct sink sink = { .event = call_event, .reply = call_reply };
	struct job *j = job_new(&sink, NULL);

	if (!is_object(j, arguments)) {
		job_free(j);
		return -EBADMSG;
	}
	put_request(j, tool, arguments);
	j->era = era_legacy();
	rpc_start(j);
	return 0;
}
