/*
 * thread.h - a named thread with a small stack, signals blocked.
 *
 * Signals are the main thread's alone (it waits for them with sigwait); a
 * worker never sees one. Stacks are 256 KiB: we never put more than a few KiB
 * there, and memory is counted in tens of MiB.
 */
#pragma once

#include "base/base.h"

struct thread;

/* The name is shown by ps and gdb: at most 15 bytes. */
int thread_start(const char *name, void (*run)(void *arg), void *arg,
    struct thread **ret, struct err *e) MUST_CHECK;
void thread_join(struct thread *t); /* waits and frees; NULL is fine */
