/*
 * One call of one tool from the command line, through the same path as a client's.
 */
#ifndef FRONT_CALL_H
#define FRONT_CALL_H

/*
 * Starts the call; the loop then runs it and ends with 0, or with 1 when the result is an error.
 * The texts go to standard output, what is no result (an unknown tool) to standard error.
 * arguments: JSON text of an object. 0, or -EBADMSG when arguments is no JSON object.
 */
int call_start(const char *tool, const char *arguments) __attribute__((warn_unused_result));

#endif
