#include "mcp/meta.h"

#include <errno.h>

#include "base/str.h"
#include "mcp/rpc.h"
#include "version.h"

#define PREFIX "io.modelcontextprotocol/"

enum { PROTOCOL, CAPABILITIES, LOG_LEVEL_KEY, PROGRESS, MEMBERS };
static const char *const member_names[] = {
	[PROTOCOL] = PREFIX "protocolVersion",
	[CAPABILITIES] = PREFIX "clientCapabilities",
	[LOG_LEVEL_KEY] = PREFIX "logLevel",
	[PROGRESS] = "progressToken",
};

/* RFC 5424 severities, as the protocol spells them. */
static const char *const log_levels[] = {
	"debug",
	"info",
	"notice",
	"warning",
	"error",
	"critical",
	"alert",
	"emergency",
	NULL,
};

static bool log_level_known(struct job *j, int at)
{
	for (const char *const *l = log_levels; *l; l++)
		if (json_str_is(&j->doc, at, *l))
			return true;
	return false;
}

static void progress_take(struct job *j, int at)
{
	struct slice raw = json_raw(&j->doc, at);

	if (raw.n <= ID_MAX &&
		(json_type(&j->doc, at) == JSON_STRING || json_is_integer(&j->doc, at)))
		j->progress_token = raw;
}

/* The message itself lacks what every request of its revision must carry. */
static bool lacks(struct job *j, const char *name, const char *type)
{
	j->malformed = true;
	rpc_error(j, RPC_PARAMS, "_meta needs \"%s\", %s", name, type);
	return false;
}

static bool bad_version(struct job *j, struct slice version)
{
	rpc_bad_version(j, version);
	return false;
}

/* Every request of the modern era says which revision it speaks and what its client can do. */
static bool modern_take(struct job *j, const int m[MEMBERS])
{
	struct slice version;

	if (json_str(&j->doc, m[PROTOCOL], &version) < 0)
		return lacks(j, member_names[PROTOCOL], "a string");
	if (json_type(&j->doc, m[CAPABILITIES]) != JSON_OBJECT)
		return lacks(j, member_names[CAPABILITIES], "an object");
	if (j->sink->check_version && !j->sink->check_version(j, version))
		return false;
	if (!slice_is(version, era_modern()->version))
		return bad_version(j, version);
	if (m[LOG_LEVEL_KEY] >= 0 && !log_level_known(j, m[LOG_LEVEL_KEY]))
		return lacks(j, member_names[LOG_LEVEL_KEY], "a log level");
	j->era = era_modern();
	return true;
}

bool meta_take(struct job *j, struct slice method)
{
	static const char *const meta_name[] = { "_meta" };
	int m[MEMBERS];

	if (json_pick(&j->doc, j->params, meta_name, 1, &j->meta) == -EEXIST ||
		json_pick(&j->doc, j->meta, member_names, MEMBERS, m) == -EEXIST) {
		rpc_error(j, RPC_PARAMS, "A member of _meta stands twice");
		return false;
	}
	if (m[PROGRESS] >= 0)
		progress_take(j, m[PROGRESS]);
	if (m[PROTOCOL] < 0 && !j->modern &&
		!(slice_is(method, "server/discover") && !j->sink->check_version))
		return true; /* legacy; a probe without _meta is modern only where no head could say
				so */
	if (j->batch_at >= 0) {
		rpc_error(j, RPC_INVALID, "A batch cannot hold messages of revision %s",
			era_modern()->version);
		return false;
	}
	return modern_take(j, m);
}

void meta_open(struct job *j)
{
	jw_object(&j->w, "_meta");
	jw_object(&j->w, PREFIX "serverInfo");
	jw_puts(&j->w, "name", SERVER_NAME);
	jw_puts(&j->w, "version", SERVER_VERSION);
	jw_close(&j->w);
}
