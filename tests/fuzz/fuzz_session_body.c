/*
 * Whatever body comes: what is taken of it lies within its bounds, a name of a repository or branch
 * cannot be an option or another host's, variables are such, and each refusal says something.
 */
#include "fuzz.h"

#include "bounds.h"
#include "front/session_body.h"
#include "host/session.h"
#include "host/session_env.h"
#include "json/json_pretty.h"

static struct buf text, mem, why, context;
static struct json doc;

/* The first byte chose the kind of body. */
static bool parse(struct slice in)
{
	fuzz_buf(&mem, 4 * MIB);
	fuzz_buf(&why, 4 * KIB);
	fuzz_buf(&text, MIB);
	buf_slice(&text, in);
	memset(&doc, 0, sizeof(doc));
	return in.n == 0 || json_parse(&doc, text.p, text.len, &mem) == 0;
}

static void told(bool taken)
{
	MUST(taken == (why.len == 0));
	MUST(!why.failed);
}

static void look_at_env(int at)
{
	const char *const *env = session_env(&doc, at, &mem, &why);
	int n = 0;

	told(env != NULL);
	for (; env && env[n]; n++) {
		MUST(strchr(env[n], '=') > env[n]);
		MUST(strncmp(env[n], "SANDSTORM_JOB=", 14) != 0);
	}
	MUST(!env || n == json_count(&doc, at));
}

static void look_at_create(void)
{
	struct create_body b;
	bool taken = session_body_create(&doc, &b, &why);

	told(taken);
	if (!taken)
		return;
	MUST(b.type.n > 0 && b.type.n <= SESSION_TYPE_BYTES);
	MUST(b.minutes >= 1 && b.minutes <= SESSION_TTL_MAX);
	MUST(b.repo.n == 0 || (b.owner.n > 0 && b.owner.p[0] != '-' && b.repo.p[0] != '-'));
	MUST(!memchr(b.repo.p, '/', b.repo.n) && !memchr(b.owner.p, '/', b.owner.n));
	MUST(b.branch.n > 0 && b.branch.p[0] != '-' && !memchr(b.branch.p, '\0', b.branch.n));
	fuzz_buf(&context, 16 * MIB);
	if (b.context >= 0)
		json_pretty(&context, json_raw(&doc, b.context));
	if (b.env >= 0)
		look_at_env(b.env);
}

static void look_at_exec(void)
{
	struct exec_body b;
	bool taken = session_body_exec(&doc, &b, &why);

	told(taken);
	if (!taken)
		return;
	MUST(b.command.n > 0 && !memchr(b.command.p, '\0', b.command.n));
	MUST(b.seconds >= 1 && b.seconds <= EXEC_MAX_MS / 1000);
}

static void look_at_extend(void)
{
	int64_t minutes;
	bool taken = session_body_extend(&doc, &minutes, &why);

	told(taken);
	MUST(!taken || (minutes >= 1 && minutes <= SESSION_TTL_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const looks[])(void) = { look_at_create, look_at_exec, look_at_extend };
	struct slice in = { (const char *)data, size };

	if (size == 0 || !parse(slice_from(in, 1)))
		return 0;
	looks[data[0] % 3]();
	return 0;
}
