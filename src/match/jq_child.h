/*
 * jq_child.h - the process that runs jq programs.
 *
 * WHY A PROCESS. libjq can't be interrupted, ends the process when memory is
 * short, and recurses over what a program builds. Programs are written by
 * strangers. So they run here: no environment, no file but a socket to the
 * server, no system calls but those that reading, writing and memory need
 * (seccomp; any other is the end), bounded memory, and a CPU timer that ends
 * the process when one program takes too long over one event.
 *
 * LIFE. Started by jq_proc.c as `hikyaku jq-child`, a word that no help shows.
 * Ends when the server closes the socket.
 */
#ifndef MATCH_JQ_CHILD_H
#define MATCH_JQ_CHILD_H

#include "base/base.h"

#define JQ_CHILD_VERB "jq-child"

/* Is this process meant to be one? */
bool jq_child_asked(int argc, char *const *argv);
/* Serves, and returns the exit status. */
int jq_child_run(void);

#endif
