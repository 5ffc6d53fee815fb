#include "mcp/eras.h"

const struct era eras[] = {
	{ "2026-07-28", .modern = true },
	{ "2025-11-25" },
	{ "2025-06-18" },
	{ "2025-03-26", .batch = true },
	{ "2024-11-05", .batch = true },
	{ 0 },
};

const struct era *era_find(struct slice version)
{
	for (const struct era *e = eras; e->version; e++)
		if (slice_is(version, e->version))
			return e;
	return NULL;
}

const struct era *era_modern(void)
{
	return &eras[0];
}

const struct era *era_legacy(void)
{
	return &eras[1];
}

void era_list(struct jw *w, const char *key)
{
	jw_array(w, key);
	for (const struct era *e = eras; e->version; e++)
		jw_puts(w, NULL, e->version);
	jw_close(w);
}
