/*
 * append.h - the commit thread: everything that is written goes through here.
 *
 * WHY ONE THREAD. An fsync costs more than all the work around it, so many
 * callers share one: whatever waits when the last commit has ended goes into
 * the next. And one writer makes one total order, which readers, cursors and
 * dedupe rest on.
 *
 *   append_post ──▶ mailbox ──▶ batch ──▶ begin, dedupe, insert, commit ──▶ done
 *
 * A job is entries for the log, or a function that changes something else (a
 * key, an account), or both in one transaction (a subscription and its place
 * in the log), or a question after an id, which only this thread's memory can
 * answer in full. All but the first run between batches, each by itself.
 *
 * LIFE. A job belongs to the thread from append_post() until its done() is
 * called, on the commit thread, exactly once, after the commit or failure.
 *
 * INVARIANTS
 *   1. done() comes after the commit: nothing is answered before it is durable.
 *   2. seq grows by commit order, without reuse; entries of one job keep their
 *      order, and jobs of one poster too.
 *   3. (tenant, event id) is in the log once. The same id with the same hash is
 *      ENTRY_SAME with the first one's seq, with another hash ENTRY_DIFFERS.
 *   4. A commit whose answer was lost is run again until it is known: our own
 *      first try then counts as ENTRY_NEW.
 *   5. Sealing (sealed.h) is the poster's time, in append_post(), and a key is
 *      noted in log_key before the first entry that was sealed with it.
 *   6. What waits is bounded in entries and bytes; past it a post is refused.
 */
#pragma once

#include "event/entry.h"
#include "event/limits.h"
#include "event/retain.h"
#include "loop/mailbox.h"

struct append;
struct db;
struct keyring;
struct store;

struct append_find {
	struct uuid event_id;
	int64_t seqs[IDS_SAME_MAX];
	int n;
};

struct append_job {
	struct mail mail;
	/* entries … */
	struct entry *entries;
	size_t n;
	size_t bytes; /* of their bodies; set by append_post */
	char *sealed; /* bodies; the thread's own */
	/* … or a function, which may run twice (store.h, promise 2). With
	 * entries it runs before them, and `after` behind them, when they have
	 * their seq. */
	int (*fn)(struct db *db, void *ctx, struct err *e);
	int (*after)(struct db *db, void *ctx, struct err *e);
	void *ctx;
	bool bare; /* fn runs once, between transactions: it has its own */
	/* … or a question: where may this event id be? */
	struct append_find *find;
	/* the answer: OK, or why not */
	struct err err;
	void (*done)(struct append_job *job);
	bool quiet; /* entry_tell() is whoever's who posted it */
};

struct append_opts {
	struct store *store;
	const char *dir;         /* whose free space is watched; NULL: none */
	int64_t disk_free_min;   /* bytes; below it entries get ERR_FULL */
	struct retain_keep keep; /* retention */
	struct keyring *seal;    /* bodies of events, with it; NULL: not */
	/* On the commit thread, after each commit that added entries. */
	void (*committed)(void *arg, int64_t last_seq);
	void *arg;
};

int append_start(
    const struct append_opts *o, struct append **ret, struct err *e) MUST_CHECK;
/* Ends once all that was accepted is done. NULL is fine. */
void append_stop(struct append *a);

/* ERR_BUSY when too much waits or the thread ends; the job is the caller's. */
int append_post(
    struct append *a, struct append_job *job, struct err *e) MUST_CHECK;

/* From any thread. */
int64_t append_last_seq(const struct append *a);
/* The newest entry of ours that changed a subscription, or a later one. */
int64_t append_config_seq(const struct append *a);
/*
 * The newest seq, when all entries after this one are known to be events; else
 * 0. For whom events say nothing, and who need not read them then.
 */
int64_t append_events_only(const struct append *a, int64_t after);
const struct retain_keep *append_keep(const struct append *a);
bool append_store_up(const struct append *a);
/* OK, or the error that an event would be refused with now. */
int append_ready(const struct append *a, struct err *e) MUST_CHECK;
