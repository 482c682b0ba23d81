/*
 * refused.h - what a source handed over that is no event.
 *
 * A row of an outbox or an incoming hook that is wrong must not stop those
 * behind it, and must not be lost. It becomes a dead letter of its own:
 *
 *   entry `ops.source.refused`, key = the source's name,
 *         payload {source, ref, reason, pointer, encoding, bytes, truncated,
 *         copy}
 *   dead  (sub 0, that entry's seq, rep 0), reason SCHEMA; type, tenant and key
 *         are those of the copy, as far as it says them
 *   audit SOURCE_REFUSED
 *
 * all in one transaction. The entry gives it an identity, a place for its copy
 * that is sealed like any event, and a line in lists; sub 0 is nobody's, so no
 * engine ever sends it. Who subscribes to `ops.*` is told of it.
 *
 * WHY AN ENTRY. A table for these alone would be a second log with its own
 * retention, sealing and ids. The dead letter's own rules (keep the body when
 * the log loses the entry, tidy what was decided) hold as they stand.
 *
 * THE SAME ROW AGAIN is the same entry: its event id comes from the source,
 * `ref` and the copy. So a crash between the append and the row's mark leaves
 * one dead letter, also when somebody has decided on it meanwhile.
 *
 * THE COPY is text where it is, else base64, cut at REFUSED_COPY_MAX. A copy
 * that is a JSON object is masked as an event would be.
 */
#pragma once

#include "event/append.h"

struct mask;

#define REFUSED_TYPE "ops.source.refused"

struct refused {
	struct str source;  /* its name, at most EVENT_KEY_MAX bytes */
	struct str ref;     /* which of it: "17"; the same for the same thing */
	struct str pointer; /* what is wrong, and why */
	struct str reason;
	struct str copy;                /* the bytes that came */
	const struct uuid *correlation; /* NULL: none is known */
	bool truncated;                 /* it is not all that came */
};

/* Its entry, in the arena. `mask` may be NULL. */
int refused_entry(struct arena *a, const struct refused *x,
    const struct mask *mask, int64_t now_us, struct entry *ret,
    struct err *e) MUST_CHECK;
bool refused_is(const struct entry *en);

/*
 * For those of the entries that are refused ones, and new: their dead letters
 * and audit rows. In append_job.after, with the job's entries.
 */
int refused_store(struct db *db, const struct entry *v, size_t n,
    int64_t now_us, struct err *e) MUST_CHECK;
/* When that is committed: counted, and told in the log. How many there were. */
size_t refused_told(const struct entry *v, size_t n);

/*
 * One by itself. `x` is the caller's until done(), on the commit thread; what
 * its entry borrows too.
 */
struct refused_post {
	struct append_job job; /* err is the answer */
	struct entry entry;    /* by refused_entry() */
	int64_t now_us;
	void (*done)(struct refused_post *x);
	void *arg;
};
int refused_post(
    struct append *append, struct refused_post *x, struct err *e) MUST_CHECK;

/* From the (opened) body of such an entry, in the arena. */
int refused_open(struct arena *a, struct str body, struct refused *ret,
    struct err *e) MUST_CHECK;
