/*
 * Repositories that a call names, by path, URL or name of a remote: none may lie on this machine
 * outside of the root (fault 65).
 */
#ifndef HOST_GIT_REPO_H
#define HOST_GIT_REPO_H

#include "host/git_run.h"

/*
 * Argument `which` of the call, an address as git clone takes it, as the word for git's command
 * line, in the job's memory. False: the call has failed and is answered.
 */
bool git_repo_word(struct job *j, int which, struct slice *word);
/* The same for push and pull, which also take the name of a remote and default to origin. */
bool git_remote_word(struct job *j, int which, struct slice *word);

#endif
