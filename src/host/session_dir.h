/*
 * The directories of a session below <root>/sessions/<id>, and what stands in context/.
 */
#ifndef HOST_SESSION_DIR_H
#define HOST_SESSION_DIR_H

#include "host/path.h"
#include "host/session.h"

/* Absolute, as clients see it; ended by NUL. False: it does not fit. */
bool session_dir_path(const struct session *s, const char *below, char *mem, size_t size);

/*
 * Makes them; task and env (empty: none) are what context/task.json and context/env.json hold,
 * readable by their owner alone. 0 or -errno, and then part of it may be there.
 */
int session_dir_make(const struct session *s, struct slice task, struct slice env)
	__attribute__((warn_unused_result));
/* Where the session's directory has its name, for removing it. 0; -ENOENT when there is none;
 * -errno. place_close afterwards. */
int session_dir_find(const struct session *s, struct place *p) __attribute__((warn_unused_result));
/*
 * The directory a command is to run in: relative to workspace/, made when missing, never outside of
 * the session's directory (fault 54), also by links. An O_PATH descriptor, or -errno as of
 * path_find.
 */
int session_dir_open(const struct session *s, struct slice given, struct place *p)
	__attribute__((warn_unused_result));
/*
 * The variables of context/env.json, which commands of the session may have changed, in mem: *env
 * as in struct child, NULL where there is no such file. 0; -EBADMSG when it is not what was
 * written there; -errno.
 */
int session_dir_env(const struct session *s, struct buf *mem, const char *const **env)
	__attribute__((warn_unused_result));

#endif
