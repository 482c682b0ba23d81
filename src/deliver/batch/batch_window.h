/*
 * batch_window.h - what of a subscription's events goes into one batch.
 *
 * A window takes events in order of the log and becomes batches: one for each
 * folder of CHILD_* events (seed 000, 10.2.1), one for each tenant of all other
 * events. In mode summary it keeps counts instead of members.
 *
 * WHY THE LOG'S TIME. A window begins with its first event and lasts len_us by
 * the time at which events were received. What is in it, and where it ends, is
 * so a function of the log and of where it began: a window that is made again
 * after a crash is the same window.
 *
 * It ends early when a batch has max_size members, or at the bounds of
 * limits.h; what comes then belongs to the next.
 *
 * SHAPES of the payloads
 *   cmis.child_batch    {repository, parentFolder, changes: [{type, objectId,
 *                       name}], batchInfo: {windowStart, windowEnd, eventCount}}
 *   hikyaku.batch       {events: [the envelopes], batchInfo}
 *   cmis.child_summary  {repository, parentFolder, counts: {CHILD_CREATED: n},
 *                       batchInfo}
 *   hikyaku.summary     {counts: {"order.paid": n}, batchInfo}
 * The folder is payload/parentFolder/id, or /objectId there; a CHILD_* event
 * without it is of the folder "". The object is payload/object/id or /objectId.
 *
 * LIFE. One thread. A batch_event borrows from the letter and the arena.
 */
#pragma once

#include "deliver/batch/child_limit.h"

struct batch_count;
struct batch_group;

struct batch_event {
	int64_t seq, at_us;
	struct str type;
	struct uuid tenant, event_id;
	struct str body; /* the envelope */
	/* of a CHILD_* event */
	enum child_type child;          /* CHILD_TYPES: it is none */
	struct child_folder folder;     /* with its tenant */
	struct str object, object_name; /* empty: unknown */
};

/* Fills `child` and what follows from type, tenant and body. */
int batch_event_read(
    struct arena *a, struct batch_event *ev, struct err *e) MUST_CHECK;

struct batch_window_opts {
	bool summary;
	int64_t len_us;
	size_t max_size;
};

/* Changed by its own functions alone; who has it looks at the first few. */
struct batch_window {
	int64_t first, last; /* seqs; first 0: it is empty */
	bool child;          /* has CHILD_* events */
	size_t bytes;
	size_t n_groups; /* the batches that it becomes */
	struct batch_window_opts o;
	struct arena *texts; /* of groups and counts */
	int64_t start_us;
	bool full;
	/* They grow: most windows have one group. */
	struct batch_group *groups;
	struct batch_count *counts;
	size_t cap_groups, n_counts, cap_counts;
};

struct batch_window *batch_window_new(const struct batch_window_opts *o);
void batch_window_free(struct batch_window *w); /* NULL is fine */

/* False: it belongs to the next window, this one has ended. */
bool batch_window_take(struct batch_window *w, const struct batch_event *ev);

/* When it ends at the latest; now when it is full. INT64_MAX: it is empty. */
int64_t batch_window_due(const struct batch_window *w);

/* One of its batches. */
struct batch_made {
	const char *type;
	struct uuid tenant;
	struct str key; /* order key: the folder; borrowed from the window */
};
/* The payload of the i-th is appended to b. */
void batch_window_make(const struct batch_window *w, size_t i,
    struct batch_made *ret, struct buf *b);

/* cmis.child_summary for what a breaker dropped. */
void batch_summary_payload(const struct child_out *out, struct buf *b);
