/*
 * child_limit.h - how many single CHILD_* events one subscription gets.
 *
 * Somebody uploads ten thousand files or deletes a folder, and each file is an
 * event on its folder. A pure state machine that says, for one subscription,
 * which of them go out, when, and which are dropped. No I/O, no clock: times
 * are parameters, spans come scaled in the options.
 *
 *                      over threshold
 *     CLOSED ────────────────────────────────▶ OPEN ── open_us later ──┐
 *       ▲  events queue, child_limit_next()     events are counted      │
 *       │  takes them as the limits allow       and dropped             │
 *       └───────────── one CHILD_OUT_SUMMARY of all that ◀──────────────┘
 *
 * RULES, of seed 000 section 10.2.2 and 10.2.3
 *   1. At most per_minute single events of a folder in any minute_us.
 *   2. At most per_second of the subscription in any second_us.
 *   3. What has to wait queues in order; a folder that may not send does not
 *      hold up another. More than queue_max: the oldest is dropped.
 *   4. More than `threshold` of a folder within minute_us: its breaker opens.
 *      What queues of that folder, and what comes within open_us, is dropped;
 *      one summary with its counts ends that.
 *
 * The seed's HALF_OPEN lets one request try: that request is the summary. What
 * becomes of it is the endpoint's business and its own breaker's (core.h); this
 * one counts events, not failures, so it is CLOSED again afterwards.
 *
 * DROPS are kept until child_limit_drops_done(), so that they are audited in
 * the transaction that makes them true: the first CHILD_DROPS_MAX one by one,
 * the rest as one count.
 *
 * LIFE. One thread. Bounded: CHILD_FOLDERS_MAX folders, CHILD_OPEN_MAX open
 * breakers (past them rules 1 to 3 protect alone). Without memory the process
 * ends: a start recovers everything (core.h). What must survive that is the
 * text of child_limit_save(): the queue and the open breakers.
 */
#pragma once

#include "base/base.h"

struct child_limit;

enum child_type { CHILD_CREATED, CHILD_UPDATED, CHILD_DELETED, CHILD_TYPES };

/* Of cmis.child_created and its like; CHILD_TYPES when it is none. */
enum child_type child_type_of(struct str type);
const char *child_type_name(enum child_type t); /* "CHILD_CREATED" */

struct child_limit_opts {
	size_t per_minute, per_second, threshold, queue_max; /* 0 < each */
	int64_t minute_us, second_us, open_us;
};

struct child_limit *child_limit_new(const struct child_limit_opts *o);
void child_limit_free(struct child_limit *l); /* NULL is fine */

/* Which folder: texts are copied. */
struct child_folder {
	struct uuid tenant;
	struct str id;         /* within the tenant */
	struct str parent;     /* JSON of parentFolder; empty: none */
	struct str repository; /* JSON of repository; empty: none */
};

/* An event of the log, in order of seq. */
void child_limit_take(struct child_limit *l, const struct child_folder *f,
    enum child_type type, int64_t seq, int64_t at_us);

enum child_out_kind { CHILD_OUT_EVENT, CHILD_OUT_SUMMARY };
struct child_out {
	enum child_out_kind kind;
	int64_t seq;                 /* EVENT */
	struct child_folder folder;  /* borrowed until the next call */
	int64_t counts[CHILD_TYPES]; /* SUMMARY, of [since_us, until_us) */
	int64_t since_us, until_us;
};
/* What goes out now; true while there is something. */
bool child_limit_next(
    struct child_limit *l, int64_t now_us, struct child_out *ret);
/* When child_limit_next() may have something; INT64_MAX: nothing waits. */
int64_t child_limit_due(const struct child_limit *l, int64_t now_us);

enum child_drop_why { CHILD_DROP_QUEUE, CHILD_DROP_BREAKER };
struct child_drop {
	enum child_drop_why why;
	enum child_type type;
	int64_t seq;
	struct str folder; /* its id */
};
struct child_drops {
	const struct child_drop *v;
	size_t n;
	int64_t more;                  /* beyond them … */
	int64_t more_first, more_last; /* … and their seqs */
};
struct child_drops child_limit_drops(const struct child_limit *l);
void child_limit_drops_done(struct child_limit *l);

/* Nothing waits and no breaker is open. */
bool child_limit_idle(const struct child_limit *l);

/* Queue and open breakers as JSON, and back into a new one. */
void child_limit_save(const struct child_limit *l, struct buf *b);
int child_limit_load(struct child_limit *l, struct arena *a, struct str text,
    struct err *e) MUST_CHECK;
