#include "mcp/rpc.h"

#include <errno.h>

#include "base/str.h"
#include "mcp/audit.h"
#include "mcp/meta.h"

enum { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, MEMBERS };
static const char *const member_names[] = { "jsonrpc", "id", "method", "params", "result",
	"error" };

/* The answer that the real one does not fit: envelope, id and a sentence. */
enum { ERROR_ROOM = ID_MAX + 256 };
_Static_assert(BATCH_MAX *ERROR_ROOM <= REPLY_EXTRA, "a batch can always be answered");

static const struct rpc_methods *methods;

void rpc_setup(const struct rpc_methods *m)
{
	methods = m;
}

/* --- answers --- */

/* Everything this message has said so far is taken back; what follows is its answer. */
static void answer_begin(struct job *j)
{
	buf_cut(&j->out, j->mark);
	if (j->batch_at >= 0)
		buf_putc(&j->out, j->mark ? ',' : '[');
	jw_init(&j->w, &j->out);
	jw_object(&j->w, NULL);
	jw_puts(&j->w, "jsonrpc", "2.0");
	jw_raw(&j->w, "id", j->id.n ? j->id : LIT("null"));
}

static void error_begin(struct job *j, int code)
{
	j->error = code;
	j->close = NULL;
	mem_overdraft(true);
	answer_begin(j);
	jw_object(&j->w, "error");
	jw_int(&j->w, "code", code);
}

static enum step error_end(struct job *j)
{
	jw_close(&j->w);
	jw_close(&j->w);
	mem_overdraft(false);
	return STEP_DONE;
}

enum step rpc_error(struct job *j, int code, const char *fmt, ...)
{
	va_list ap;

	error_begin(j, code);
	va_start(ap, fmt);
	jw_vprintf(&j->w, "message", fmt, ap);
	va_end(ap);
	return error_end(j);
}

enum step rpc_bad_version(struct job *j, struct slice requested)
{
	error_begin(j, RPC_VERSION);
	jw_puts(&j->w, "message", "Unsupported protocol version");
	jw_object(&j->w, "data");
	era_list(&j->w, "supported");
	jw_str(&j->w, "requested", slice_head(requested, NAME_SHOWN_MAX));
	jw_close(&j->w);
	return error_end(j);
}

void rpc_result_begin(struct job *j)
{
	answer_begin(j);
	jw_object(&j->w, "result");
	if (j->era->modern)
		jw_puts(&j->w, "resultType", "complete");
}

enum step rpc_result_close(struct job *j)
{
	jw_close(&j->w);
	jw_close(&j->w);
	return STEP_DONE;
}

enum step rpc_result_end(struct job *j)
{
	if (j->era->modern) {
		meta_open(j);
		jw_close(&j->w);
	}
	return rpc_result_close(j);
}

/* --- one message --- */

/* The id as it came, when it is one: a string or an integer of any size (JSON-RPC 2.0 section 4).
 */
static bool id_take(struct job *j, int at)
{
	struct slice raw = json_raw(&j->doc, at);

	if (raw.n > ID_MAX ||
		!(json_type(&j->doc, at) == JSON_STRING || json_is_integer(&j->doc, at)))
		return false;
	j->id = raw;
	j->id_token = at;
	return true;
}

static void message_reset(struct job *j)
{
	j->id = j->progress_token = (struct slice){ 0 };
	j->started = loop_now();
	j->progress_last = 0;
	j->mark = j->out.len;
	j->params = j->meta = -1;
	j->error = 0;
	j->failed = j->muted = j->malformed = false;
	j->tool = NULL;
	j->state = NULL;
	j->close = NULL;
}

static enum step request_run(struct job *j, struct slice method)
{
	if (j->stopped)
		return rpc_error(j, RPC_INTERNAL, "Server is stopping");
	if (j->spare)
		return rpc_error(j, RPC_INTERNAL,
			"Server is busy: %d messages are being served, try again", JOBS_MAX);
	if (json_type(&j->doc, j->params) == JSON_NULL)
		j->params = -1;
	if (j->params >= 0 && json_type(&j->doc, j->params) != JSON_OBJECT)
		return rpc_error(j, RPC_PARAMS, "params must be an object");
	if (!meta_take(j, method))
		return STEP_DONE;
	if (j->sink->check_method && !j->sink->check_method(j, method))
		return STEP_DONE;
	return methods->request(j, method);
}

static enum step message_run(struct job *j, int root)
{
	int m[MEMBERS];
	struct slice method;
	int r = json_pick(&j->doc, root, member_names, MEMBERS, m);

	if (r == -EINVAL)
		return rpc_error(j, RPC_INVALID, "A message must be an object");
	if (m[METHOD] < 0 && (m[RESULT] >= 0 || m[ERROR] >= 0))
		return STEP_DONE; /* an answer to a request, which we never send */
	if (m[ID] >= 0 && !id_take(j, m[ID]))
		return rpc_error(j, RPC_INVALID,
			"id must be a string or an integer of at most %d bytes", ID_MAX);
	if (r == -EEXIST)
		return rpc_error(j, RPC_INVALID, "A member of the message stands twice");
	if (!json_str_is(&j->doc, m[JSONRPC], "2.0"))
		return rpc_error(j, RPC_INVALID, "jsonrpc must be \"2.0\"");
	if (json_str(&j->doc, m[METHOD], &method) < 0)
		return rpc_error(j, RPC_INVALID, "method must be a string");
	j->params = m[PARAMS];
	if (m[ID] >= 0)
		return request_run(j, method);
	if (!j->sink->check_method || j->modern || j->sink->check_method(j, method))
		methods->notification(j, method);
	return STEP_DONE;
}

/* --- a whole text: one message, or a batch whose messages are served one after the other in the
 * same job --- */

static void message_start(struct job *j, int root)
{
	message_reset(j);
	j->muted = j->cancelled >> j->batch_left & 1;
	job_stepped(j, j->muted ? STEP_DONE : message_run(j, root));
}

/* With room for an error to each message that is still to come, and for what the batch and the
 * transport add. */
static bool answer_fits(const struct job *j)
{
	return !j->out.failed && j->out.max - j->out.len >= (size_t)j->batch_left * ERROR_ROOM + 2;
}

/* Whatever the call has left half done or impossible becomes a complete answer, or none. */
static void message_close(struct job *j)
{
	if (j->stopped && j->tool)
		rpc_error(j, RPC_INTERNAL, "Server is stopping: the call was ended");
	if (j->close)
		j->close(j);
	if (!answer_fits(j))
		rpc_error(j, RPC_INTERNAL, "The answer does not fit into the server's memory");
	if (j->muted ||
		j->out.failed) /* failed even now: the kernel has no memory for one sentence */
		buf_cut(&j->out, j->mark);
	if (j->tool)
		audit_call(j);
}

static void text_end(struct job *j)
{
	mem_overdraft(true);
	if (j->batch_at >= 0 && j->out.len)
		buf_putc(&j->out, ']');
	mem_overdraft(false);
	if (j->gone)
		buf_cut(&j->out, 0);
	j->sink->reply(j);
}

/* Recursion is bounded by BATCH_MAX. */
static void message_finished(struct job *j)
{
	int next = -1;

	message_close(j);
	if (j->batch_at >= 0 && !j->gone)
		next = json_next(&j->doc, 0, j->batch_at);
	if (next < 0) {
		text_end(j);
		return;
	}
	j->batch_at = next;
	j->batch_left--;
	message_start(j, next);
}

static enum step text_refused(struct job *j, int err)
{
	if (err == -EBADMSG)
		return rpc_error(j, RPC_PARSE, "Parse error: not valid JSON");
	if (err == -E2BIG)
		return rpc_error(j, RPC_INVALID,
			"JSON is too deep or too large: at most %d levels and %d values",
			JSON_DEPTH_MAX, JSON_TOKENS_MAX);
	return rpc_error(j, RPC_INTERNAL, "The message does not fit into the server's memory");
}

static enum step batch_refused(struct job *j)
{
	if (!j->batch_ok)
		return rpc_error(
			j, RPC_INVALID, "Batches are not served in this protocol revision");
	return rpc_error(j, RPC_INVALID, "A batch holds 1 to %d messages", BATCH_MAX);
}

static void batch_start(struct job *j)
{
	int n = json_count(&j->doc, 0);

	if (!j->batch_ok || n < 1 || n > BATCH_MAX) {
		job_stepped(j, batch_refused(j));
		return;
	}
	j->batch_at = json_first(&j->doc, 0);
	j->batch_left = n - 1;
	message_start(j, j->batch_at);
}

static void text_begin(struct job *j)
{
	j->finish = message_finished;
	message_reset(j);
}

void rpc_start(struct job *j)
{
	int r = json_parse(&j->doc, j->text.p, j->text.len, &j->mem);

	text_begin(j);
	if (r < 0)
		job_stepped(j, text_refused(j, r));
	else if (json_type(&j->doc, 0) == JSON_ARRAY)
		batch_start(j);
	else
		message_start(j, 0);
}

void rpc_too_long(struct job *j)
{
	text_begin(j);
	if (j->text.failed)
		job_stepped(j, text_refused(j, -ENOMEM));
	else
		job_stepped(j, rpc_error(j, RPC_INVALID,
				       "The message is over the limit of %d bytes", REQUEST_MAX));
}
