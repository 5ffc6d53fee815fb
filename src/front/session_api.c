#include "front/session_api.h"

#include <limits.h>

#include "base/str.h"
#include "front/gate.h"
#include "front/session_calls.h"
#include "front/session_job.h"
#include "front/session_text.h"

static bool is_served;

void session_api_setup(bool served, int64_t max_instances)
{
	is_served = served;
	if (served)
		sessions_start(max_instances);
}

bool session_api_gate(struct http_request *r)
{
	if (is_served)
		return gate_session(r);
	gate_refuse(r, 404, (struct slice){ 0 },
		"Sessions are off: they run commands, and terminal_exec is not served");
	return false;
}

/* --- status: the one call that never waits --- */

static void serve_status(struct http_request *r, struct slice id)
{
	char mem[2 * KIB + PATH_MAX];
	struct buf body;
	struct session *s;
	struct jw w;
	int64_t now = sessions_now();

	s = sessions_find(id);
	if (!s) {
		gate_refuse(r, 404, (struct slice){ 0 }, "Session not found");
		return;
	}
	buf_over(&body, mem, sizeof(mem));
	jw_init(&w, &body);
	jw_object(&w, NULL);
	session_put_status(&w, s, now);
	jw_close(&w);
	gate_answer(r, 200, "application/json", LIT("Cache-Control: no-store\r\n"), buf_all(&body));
}

/* --- routes --- */

static const struct call {
	const char *verb; /* behind the id; "": nothing stands there */
	enum http_method method;
	const char *allow;
	const char *name;
	enum step (*run)(struct job *j); /* NULL: status */
} calls[] = {
	{ "exec", HTTP_POST, "POST", "exec", session_exec },
	{ "status", HTTP_GET, "GET, HEAD", "status", NULL },
	{ "extend", HTTP_POST, "POST", "extend", session_extend_call },
	{ "", HTTP_DELETE, "DELETE", "delete", session_delete },
	{ 0 },
};

static const struct call create = { "create", HTTP_POST, "POST", "create", session_create };

/* The call that a path behind "/session/" names, and the id in it. */
static const struct call *call_find(struct slice path, struct slice *id)
{
	*id = (struct slice){ "", 0 };
	if (http_path_is(path, create.verb))
		return &create;
	*id = str_split(&path, '/');
	for (const struct call *c = calls; c->verb; c++)
		if (http_path_is(path, c->verb))
			return c;
	return NULL;
}

static void refuse_method(struct http_request *r, const char *allow)
{
	char mem[64];
	struct buf more;

	buf_over(&more, mem, sizeof(mem));
	buf_printf(&more, "Allow: %s\r\n", allow);
	gate_refuse(r, 405, buf_all(&more), "Method not allowed");
}

static bool has_body(const struct http_request *r)
{
	return r->head->chunked || r->head->length > 0;
}

void session_api_serve(struct http_request *r)
{
	enum http_method method = r->head->method == HTTP_HEAD ? HTTP_GET : r->head->method;
	struct slice rest, id;
	const struct call *c;

	(void)http_path_starts(r->head->path, "/session/", &rest);
	c = call_find(rest, &id);
	if (!c)
		gate_refuse(r, 404, (struct slice){ 0 }, "Not found");
	else if (method != c->method)
		refuse_method(r, c->allow);
	else if (!c->run)
		serve_status(r, id);
	else if (method == HTTP_POST && (has_body(r) || c == &create) && !gate_is_json(r->head))
		gate_refuse(r, 415, (struct slice){ 0 }, "Content-Type must be application/json");
	else
		session_job_run(r, c->name, id, c->run);
}
