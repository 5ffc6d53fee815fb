/*
 * What all commands that serve or call have in common: setting up, the loop, ending.
 */
#ifndef START_H
#define START_H

#include "config.h"

/*
 * Reads the configuration for a command that needs no secret; the secrets are then out of the
 * environment. The words as config_load. 0, or the exit code after a complaint.
 */
int start_config(struct config *c, int argc, char **argv, int most, int *words)
	__attribute__((warn_unused_result));

/* Chooses the tools by c->tools, or else by dflt. 0, or 2 after a complaint. */
int start_tools(const struct config *c, const char *dflt) __attribute__((warn_unused_result));

/*
 * Everything that does not depend on the transport: log, memory, workspace, tools, loop, children,
 * jobs. stop: called on TERM and INT with the grace that calls have. hang_up: called on HUP; NULL:
 * as TERM.
 */
struct transport {
	void (*stop)(int64_t grace_ms);
	void (*hang_up)(void);
	bool log_json; /* unless SANDSTORM_LOG_FORMAT says otherwise */
};
int start_up(const struct config *c, const char *tools, const struct transport *t)
	__attribute__((warn_unused_result));

/* For servers: says in the log which programs that tools run are not on this machine. */
void start_say_missing(void);

/* Runs the loop to its end and ends all that was started. Gives the exit code. */
int start_run(void);

#endif
