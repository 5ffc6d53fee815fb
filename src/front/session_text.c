#include "front/session_text.h"

#include <limits.h>

#include "base/clock.h"
#include "host/session_dir.h"

static void put_name(struct jw *w, const struct session *s, const char *status)
{
	jw_puts(w, "id", s->id);
	jw_puts(w, "status", status);
}

static void put_path(struct jw *w, const struct session *s)
{
	char path[PATH_MAX];

	if (session_dir_path(s, "", path, sizeof(path)))
		jw_puts(w, "workspace_path", path);
}

/* 2026-01-31T12:00:00Z, or with six digits of a fraction that is not zero. */
static void put_instant(struct jw *w, const char *key, int64_t ms)
{
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	clock_put_iso(&b, ms / 1000);
	if (ms % 1000) {
		buf_cut(&b, b.len - 1);
		buf_printf(&b, ".%03d000Z", (int)(ms % 1000));
	}
	jw_str(w, key, buf_all(&b));
}

void session_put_made(struct jw *w, const struct session *s)
{
	put_name(w, s, "ready");
	put_path(w, s);
}

void session_put_status(struct jw *w, const struct session *s, int64_t now)
{
	put_name(w, s, session_status(s));
	jw_str(w, "type", (struct slice){ s->type, s->type_len });
	put_path(w, s);
	jw_int(w, "ttl_remaining_minutes", session_minutes_left(s, now));
	put_instant(w, "created_at", s->created);
}

void session_put_extended(struct jw *w, const struct session *s, int64_t now)
{
	put_name(w, s, session_status(s));
	put_instant(w, "expires_at", s->end);
	jw_int(w, "ttl_remaining_minutes", session_minutes_left(s, now));
}
