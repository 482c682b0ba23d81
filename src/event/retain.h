/*
 * retain.h - the old end of the log goes, a few rows at a time.
 *
 * WHY STEPS. Deleting a day at once stalled the writer for seconds. A step
 * takes RETAIN_STEP entries by their seq, so it costs a millisecond or two, and
 * is taken when the commit thread is idle, or every RETAIN_BUSY_MS when it never
 * is. On SQLite, where entries come faster than that takes them away, steps are
 * as many, and as large up to RETAIN_STEP_MAX, as are needed to take two for
 * each that comes: the log never outgrows what is to be kept. PostgreSQL drops
 * whole pieces instead (ops/jobs.c).
 *
 * DELIVERIES. What has a row, or is a dead letter that waits, keeps its body in
 * `dead`, in the same transaction. A reader is not looked at: it jumps when it
 * is read (deliver/engine/feeding.h).
 *
 * INVARIANTS
 *   1. Entries go in the order of seq. An id is unknown without its entry.
 *   2. The newest entry always stays: its seq is where the next one counts on.
 *   3. Nothing goes that whoever delivers has not come to.
 */
#pragma once

#include "base/base.h"

struct append_engine;
struct db;

/* The commit thread's. Its maker sets the first two. */
struct retain {
	const struct append_engine *engine;
	int64_t keep_us; /* 0: for ever */
	int64_t not_before_ms;
	bool behind;          /* there was more than a step took */
	int64_t seen, credit; /* last_seq, and what may go for what came */
};

/* Entries from first, which came at first_us, to upto that came before_us. */
struct retain_cut {
	int64_t before_us, now_us, first, first_us, upto;
};

int retain_step(struct retain *x, struct db *db, int64_t last_seq,
    int64_t now_us, bool idle, struct err *e) MUST_CHECK;
