/*
 * items.h - what a fetched feed changes in the store.
 *
 * A plan is made on a reading thread: what the store has of the feed is read
 * in a few statements, each item is found by the three steps of identity (its
 * id, its link, the hash of title, date and summary), what is new or changed
 * is made clean to show (doc/caged.h), and its events are made. Then the commit thread
 * writes plan and events in one transaction, if nobody changed the feed's
 * items since they were read; else a new plan is made.
 *
 *   fetcher: items_plan ──▶ commit: items_write (fn), entries, one commit
 *               ▲                            │
 *               └── plan.more: done = plan.done ──┘
 *
 * WHY PARTS. A commit takes COMMIT_BATCH_MAX events, and whoever waits behind
 * it must not wait for 10,000 articles. A plan ends after ITEMS_PLAN_MAX
 * changes, says so by `more`, and the next one goes on behind it. Most feeds
 * are one plan.
 *
 * IDENTITY. Of two articles of a document that are one, the one with the newer
 * date is taken, else the first. A link that several ids of one document have,
 * or several articles of the store, names none of them: else a feed whose
 * articles all link to one page would have one article. For the same reason a
 * hash counts only when there was a text and a date to make it of.
 *
 * INVARIANTS
 *   1. An article is in a feed once, whatever step finds it.
 *   2. Each new or changed article is one event, written with it; but for what
 *      a large feed has when it is read for the first time.
 *   3. The statements of a plan don't grow with the number of items, nor do
 *      the round trips to PostgreSQL.
 *   4. What was removed and is still in the feed does not come back.
 */
#pragma once

#include "markup/sanitize.h"

struct caged;
struct db;
struct entry;
struct feed;
struct item_doc;
struct sql_item_insert_args;
struct sql_item_terms_put_args;
struct sql_item_tomb_del_args;

struct items_from {
	int64_t feed; /* feed.id */
	struct str feed_uid, feed_url;
	const struct feed *parsed;
	enum sanitize_tags tags;
	struct caged *caged; /* cleans articles */
	int64_t now_us;
	bool large;  /* more than reader.events.first */
	size_t done; /* 0, or what the plan before said, as with … */
	const struct item_doc *doc; /* … this, with the same arena, or NULL */
};

struct items_plan {
	int64_t feed, version; /* as they were read */
	int64_t now_us;
	size_t inserted, updated, same; /* of this part */
	size_t done;
	const struct item_doc
	    *doc;              /* what was read of `parsed`, for the next */
	bool more;             /* write this, then make a plan from `done` on */
	struct entry *entries; /* events, for the append_job */
	size_t n_entries;
	size_t n_changes;
	/* as they are written: so many as inserted, updated, n_changes say */
	struct sql_item_insert_args *added, *changed;
	struct sql_item_terms_put_args *terms;
	struct sql_item_tomb_del_args *gone; /* tombstones that nobody shows */
	size_t n_gone;
};

/* All of it is the arena's and lives until the job is done. */
int items_plan(struct db *db, struct arena *a, const struct items_from *from,
    struct items_plan *ret, struct err *e) MUST_CHECK;
/*
 * On the commit thread, inside its transaction; may run twice. ERR_CONFLICT:
 * the feed's version moved, make a new plan. A plan that changes nothing
 * (n_changes and n_gone 0) need not be written.
 */
int items_write(
    struct db *db, const struct items_plan *p, struct err *e) MUST_CHECK;
