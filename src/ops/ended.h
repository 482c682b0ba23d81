/*
 * ended.h - drops what ended subscriptions left behind.
 *
 * Ending a subscription is one row (deliver/engine/control.h); the engine forgets it
 * at its place in the log. Its waiting deliveries, readers, open dead letters
 * and counters go here, SUB_DROP_STEP rows a transaction, so that the commit
 * thread never stands still for it. Each step that drops deliveries tells the
 * audit how many (WEBHOOK_DELIVERY_DROPPED). Attempts and decided dead letters
 * are history, and stay until their time.
 *
 * WHEN. Not before the engine's cursor is past the end: from then on it writes
 * nothing of that subscription. A crash in between loses nothing: the next
 * look finds what is left.
 */
#pragma once

#include "base/base.h"

struct db;

/* Whether there is anything to do; on any connection. */
int ended_any(struct db *db, bool *ret, struct err *e) MUST_CHECK;
/* One step, inside a write transaction. *ret_did 0: there was nothing. */
int ended_step(
    struct db *db, int64_t now_us, int64_t *ret_did, struct err *e) MUST_CHECK;
