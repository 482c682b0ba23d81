/*
 * flush.h - results, rows and positions on their way into the store.
 *
 * One set of the core's changes at a time, one transaction, written again until
 * it is in, or until another node has the groups. With it goes what else has to
 * be stored with it: what people decided (ask.h), stretches of the log that went
 * unread (feeding.h), what the audit tells of attempts and of dead letters that
 * had none (by their preset), and
 * what became of deliveries that another part keeps account of ("settled"). What comes while a set is under way waits for the next
 * one, in a second list: the two take turns.
 *
 * On PostgreSQL attempts and rows go as arrays: a message for all of a kind
 * instead of one for each. Every flush has a number; one whose commit's answer
 * was lost finds its number there and writes nothing twice, not even counters.
 *
 * LIFE. The deliver thread's; the commit thread reads what is under way, which
 * nobody changes until NOTE_FLUSHED.
 *
 * INVARIANT 7 of ENGINE.md: a node that lost its groups writes nothing.
 */
#pragma once

#include "deliver/engine/note.h"
#include "event/append.h"

struct audit_row;
struct core;
struct core_changes;
struct core_dead;
struct db;

/* What a person decided about a dead letter; written with the rows it makes. */
struct flush_decision {
	uint32_t sub;
	int rep;
	int64_t seq, at;
	int state;   /* 1: put back, 2: skipped */
	bool person; /* asked for it; else a rule did */
	struct str who, note;
	/* for the audit */
	char webhook_id[UUID_LEN + 1], delivery_id[UUID_LEN + 1];
};

/* A stretch of the log that went before a reader came to it. */
struct flush_range {
	uint32_t sub;
	bool audit;
	uint64_t okey;
	int64_t seq, seq_to, at;
};

/*
 * What became of deliveries whose subscription another part keeps
 * (wish.directed), for that part to write down in the same transaction.
 */
enum settled { SETTLED_AGAIN, SETTLED_OK, SETTLED_DEAD };
struct flush_settled {
	uint32_t sub;
	int64_t seq;
	enum settled how;
};
typedef int (*flush_settled_fn)(
    struct db *db, const struct flush_settled *v, size_t n, struct err *e);

#define FLUSH_AGAIN_US (100 * US_PER_MS) /* after the store or log failed */

/* What goes with a set beside the core's changes. */
struct flush_more {
	struct audit_row *audits; /* of attempts; their texts are in `mem` */
	size_t n_audits, cap_audits;
	struct arena *mem;
	struct flush_decision *decisions;
	size_t n_decisions, cap_decisions;
	struct flush_range *ranges;
	size_t n_ranges, cap_ranges;
	struct flush_settled *settled;
	size_t n_settled, cap_settled;
};

struct flush {
	struct note note;
	struct append_job job;
	struct append *append;
	struct deliver *d; /* who is told */

	/* The set under way: */
	const struct core_changes *changes; /* NULL: none */
	struct flush_more now;
	int64_t epoch, number;
	int64_t at_us;  /* of the wall clock */
	int64_t minute; /* the same, for counters */
	bool progress;  /* the first results of this start */

	struct flush_more next; /* waits for the next set */
	bool real;              /* the changes are the core's */
	bool busy;              /* the commit thread has them */
	bool hurry;             /* somebody waits for the next */
	bool progressed;        /* results were written since the start */
	int64_t again_us;       /* after one that failed */
	int told_rc;
};

/* Without changes, in a hurry: the next turn writes all the same. */
struct flush_decision *flush_decide(struct flush *f);
void flush_range(struct flush *f, const struct flush_range *g);
/* A row of the audit, for who fills it: goes with the next set. Its texts are
 * *ret_mem's. */
struct audit_row *flush_audited(struct flush *f, struct arena **ret_mem);

/* Begins the next set, or writes one that failed once more. True: a new one,
 * for which the asks that wait are now under way. */
bool flush_begin(
    struct flush *f, struct core *core, int64_t epoch, bool asked, int64_t now);
/* NOTE_FLUSHED: OK, and the set stays until flush_next(); or why
 * not. ERR_DENIED: another node has the groups. */
int flush_ended(struct flush *f, int64_t now);
void flush_next(struct flush *f, struct core *core, int64_t now);
/* Nothing of it is to be written any more. */
void flush_drop(struct flush *f);
void flush_done(struct flush *f);

/* Dead letters that are not the core's, and their counters. */
int flush_deads(struct db *db, const struct core_dead *v, size_t n,
    int64_t minute, struct err *e) MUST_CHECK;

/* Last of all in the same transaction: those of them that the audit has to
 * know of. */
int flush_deads_audit(struct db *db, const struct deliver *d,
    const struct core_dead *v, size_t n, struct err *e) MUST_CHECK;

/* Last of all in a set's transaction: the audit's head is locked from here on.
 * decided[i]: decision i was on a dead letter that waited for one. */
int flush_audit(struct db *db, struct arena *a, const struct flush *f,
    const bool *decided, struct err *e) MUST_CHECK;
