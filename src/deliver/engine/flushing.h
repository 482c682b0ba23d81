/*
 * flushing.h - results, rows and positions on their way into the store.
 *
 * One set of changes at a time, written again until it is in, or until another
 * node has the groups. With it goes what else has to be stored with it: what
 * people decided (ask.h), stretches of the log that went unread (feeding.h), and
 * what became of deliveries that another part keeps account of (flush.h,
 * "settled"). What comes while a set is under way waits for the next one, in a
 * second list: the two take turns.
 *
 * LIFE. The deliver thread's; the commit thread reads what is under way, which
 * nobody changes until NOTE_FLUSHED.
 */
#ifndef DELIVER_ENGINE_FLUSHING_H
#define DELIVER_ENGINE_FLUSHING_H

#include "base/clock.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/note.h"
#include "event/append.h"

#define FLUSH_AGAIN_US (100 * US_PER_MS) /* after the store or log failed */

struct core;
struct core_changes;

/* What goes with a set beside the core's changes. */
struct flush_more {
	struct flush_decision *decisions;
	size_t n_decisions, cap_decisions;
	struct flush_range *ranges;
	size_t n_ranges, cap_ranges;
	struct flush_settled *settled;
	size_t n_settled, cap_settled;
};

struct flushing {
	struct note note;
	struct append_job job;
	struct append *append;
	struct deliver *d; /* who is told */

	/* The set under way: */
	const struct core_changes *changes; /* NULL: none */
	struct flush_more now;
	int64_t epoch, number;
	int64_t minute; /* of the wall clock, for counters */
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
struct flush_decision *flushing_decide(struct flushing *f);
void flushing_range(struct flushing *f, const struct flush_range *g);

/* Begins the next set, or writes one that failed once more. True: a new one,
 * for which the asks that wait are now under way. */
bool flushing_begin(struct flushing *f, struct core *core, int64_t epoch,
    bool asked, int64_t now);
/* NOTE_FLUSHED: OK, and the set stays until flushing_next(); or why
 * not. ERR_DENIED: another node has the groups. */
int flushing_ended(struct flushing *f, int64_t now);
void flushing_next(struct flushing *f, struct core *core, int64_t now);
/* Nothing of it is to be written any more. */
void flushing_drop(struct flushing *f);
void flushing_done(struct flushing *f);

#endif
