#include "mcp/audit.h"

#include "base/log.h"
#include "mcp/tool.h"

static const char *outcome(const struct job *j)
{
	if (j->muted)
		return "cancelled";
	if (j->error)
		return "refused";
	return j->failed ? "failed" : "ok";
}

void audit_call(const struct job *j)
{
	char client_mem[64];
	struct buf client;
	struct log_field fields[] = {
		{ "tool", .text = slice_of(j->tool->name) },
		{ "outcome", .text = slice_of(outcome(j)) },
		{ "ms", .number = loop_now() - j->started },
		{ "bytes", .number = (int64_t)(j->out.len - j->mark) },
		{ 0 },
		{ 0 },
	};

	buf_over(&client, client_mem, sizeof(client_mem));
	if (j->sink->put_client) {
		j->sink->put_client(j, &client);
		fields[4] = (struct log_field){ "peer", .text = buf_all(&client) };
	}
	log_event(LOG_INFO, "call", fields);
}
