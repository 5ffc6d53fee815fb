/*
 * What the sessions API says of a session: members of an object.
 */
#ifndef FRONT_SESSION_TEXT_H
#define FRONT_SESSION_TEXT_H

#include "host/session.h"
#include "json/json_write.h"

/* id, status, workspace_path */
void session_put_made(struct jw *w, const struct session *s);
/* id, status, type, workspace_path, ttl_remaining_minutes, created_at */
void session_put_status(struct jw *w, const struct session *s, int64_t now);
/* id, status, expires_at, ttl_remaining_minutes */
void session_put_extended(struct jw *w, const struct session *s, int64_t now);

#endif
