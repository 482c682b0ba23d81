/*
 * dispatch.h - the dispatch thread: it reads the log in order, applies what
 * changed with subscriptions at its place in that order, finds who wants each
 * event, and hands both to the deliver thread.
 *
 * It never waits for a receiver: where one is behind, the core keeps a position
 * for it and forgets what it is fed.
 */
#pragma once

#include "base/base.h"

struct deliver;
struct dispatch;
struct note;

int dispatch_start(
    struct deliver *d, struct dispatch **ret, struct err *e) MUST_CHECK;
void dispatch_stop(struct dispatch *x); /* NULL is fine */
/* NOTE_BEGIN, NOTE_GO, NOTE_HALT, NOTE_FREE. */
void dispatch_tell(struct dispatch *x, struct note *n);
