/*
 * What a command has said as the answer of a call, as git tools and workspace_install give it
 * (host-tools.md section 4): standard output, a newline, standard error, all without blanks at both
 * ends; after its time limit the line "timeout after <n>s". Passwords in URLs are masked.
 */
#ifndef HOST_COMMAND_TEXT_H
#define HOST_COMMAND_TEXT_H

#include "host/command.h"

enum command_form {
	TEXT_BOTH,   /* as above */
	TEXT_LINES,  /* the same, but blanks at the beginning stay: they belong to a list (fault 48)
		      */
	TEXT_OUTPUT, /* standard output alone, as it came; of a command that failed: as TEXT_BOTH */
};

/* For next() of command_run, of a job whose state begins with a struct command. isError when the
 * command failed. */
enum step command_text(struct job *j, enum command_form form);
/* The same for jobs that are no tool calls: into the string that is open in the job's writer. */
void command_put_text(struct job *j, enum command_form form);

#endif
