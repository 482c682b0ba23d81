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
 * WHAT SOMEBODY WAITS FOR stays past its time: all from the first entry on that
 * a row, a reader, a replay or a gathering still needs, whether its subscription
 * is enabled or not; from the cursor on all, as nobody has looked there yet, or
 * only in memory. It is kept where it is, up to an age and a weight of its own;
 * past either the oldest go. The weight is a guess from RETAIN_SAMPLES entries:
 * to add them all up would read the whole stretch once a second. What went is
 * told by its readers (deliver/engine/feeding.h); what has a row, or is a dead
 * letter that waits, keeps its body in `dead`, in the same transaction.
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

struct retain_keep {
	int64_t us; /* 0: for ever */
	/* What is waited for: its age, and its weight past `us`. */
	int64_t pending_us, pending_bytes;
};

/* The old end of the log, and who waits there. */
struct retain_pending {
	int64_t first, first_us;
	int64_t from, from_us; /* the first that is needed; INT64_MAX: none */
	int64_t bytes, each;   /* from there to what is young; an entry's */
};

/* The commit thread's. Its maker sets the first two. */
struct retain {
	const struct append_engine *engine;
	struct retain_keep keep;
	int64_t not_before_ms;
	struct retain_pending pending; /* as of a moment ago … */
	int64_t look_ms;               /* … and when to look again */
	bool behind;                   /* there was more than a step took */
	int64_t seen, credit; /* last_seq, and what may go for what came */
};

/* Entries from first, which came at first_us, to upto that came before_us. */
struct retain_cut {
	int64_t before_us, now_us, first, first_us, upto;
};

/* 0: the log is empty. */
int retain_look(struct db *db, const struct retain_keep *keep, int64_t now_us,
    struct retain_pending *ret, struct err *e) MUST_CHECK;
/* Those up to *ret_upto that came before *ret_before_us may go; false: none. */
bool retain_may(const struct retain_keep *keep, const struct retain_pending *p,
    int64_t now_us, int64_t *ret_upto, int64_t *ret_before_us);
/* In hundredths of what is kept at most. */
double retain_used(const struct retain_keep *keep,
    const struct retain_pending *p, int64_t now_us);

int retain_step(struct retain *x, struct db *db, int64_t last_seq,
    int64_t now_us, bool idle, struct err *e) MUST_CHECK;
