/*
 * files.h - how many files and sockets the server may have open.
 *
 * The limit that the shell or systemd gave (RLIMIT_NOFILE) is raised as far as
 * it may be. Connections that would not fit beside what the program itself needs
 * are not promised: a server that runs out of descriptors can't open its
 * database, while one connection less is only a client that waits.
 */
#pragma once

#include "base/base.h"

/* Connections out of `wanted` that fit, when `others` sockets (calls to other
 * servers) and FILES_OWN are kept free under the limit; 1 at least. */
int files_fit(uint64_t limit, int wanted, int others);
/* Raises the limit, and says in the log when fewer than wanted fit. */
int files_raise(int wanted, int others);
