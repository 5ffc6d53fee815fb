#include "tls/sessions.h"

#include "base/secret.h"
#include "bounds.h"
#include "loop/loop.h"

static struct {
	br_ssl_session_parameters session;
	uint64_t used; /* the greater the later; 0: free */
} kept[TLS_SESSIONS_MAX];
static uint64_t uses;

/* The one with that id, -1 for none. */
static int find(const unsigned char *id)
{
	for (int i = 0; i < TLS_SESSIONS_MAX; i++)
		if (kept[i].used && memcmp(kept[i].session.session_id, id, 32) == 0)
			return i;
	return -1;
}

static void save(const br_ssl_session_cache_class **ctx, br_ssl_server_context *server,
	const br_ssl_session_parameters *session)
{
	int oldest = 0;

	(void)ctx, (void)server;
	for (int i = 1; i < TLS_SESSIONS_MAX; i++)
		if (kept[i].used < kept[oldest].used)
			oldest = i;
	kept[oldest].session = *session;
	kept[oldest].used = ++uses;
}

static int load(const br_ssl_session_cache_class **ctx, br_ssl_server_context *server,
	br_ssl_session_parameters *session)
{
	int i = find(session->session_id);

	(void)ctx, (void)server;
	if (i < 0)
		return 0;
	*session = kept[i].session;
	kept[i].used = ++uses;
	return 1;
}

const br_ssl_session_cache_class **sessions_cache(void)
{
	static const br_ssl_session_cache_class class = {
		.context_size = sizeof(const br_ssl_session_cache_class *),
		.save = save,
		.load = load,
	};
	static const br_ssl_session_cache_class *cache = &class;

	return &cache;
}

void sessions_drop(const br_ssl_engine_context *engine)
{
	int i = find(engine->session.session_id);

	if (i >= 0)
		secret_wipe(&kept[i], sizeof(kept[i]));
}

/* The secrets in there could open what was recorded since. */
static void grown_old(struct timer *t)
{
	(void)t;
	sessions_forget();
}

void sessions_forget(void)
{
	static struct timer age = { .fire = grown_old };

	secret_wipe(kept, sizeof(kept));
	timer_set(&age, TLS_SESSIONS_MS);
}
