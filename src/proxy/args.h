/*
 * Arguments that several sandbox tools have; request.c looks for them by name.
 */
#ifndef PROXY_ARGS_H
#define PROXY_ARGS_H

#include "bounds.h"
#include "mcp/tool.h"

// clang-format off
#define ARG_SANDBOX_ID { "sandbox_id", ARG_STR, ARG_REQUIRED, "Id of the sandbox, as spawn_sandboxes and list_sandboxes give it", .min = 1, .max = SANDBOX_ID_MAX }
#define ARG_SANDBOX_TOKEN { "sandbox_token", ARG_STR, 0, "The token that spawn_sandboxes returned for this sandbox; masters that give tokens refuse the call without it", .min = 1, .max = SANDBOX_TOKEN_MAX }
// clang-format on

#endif
