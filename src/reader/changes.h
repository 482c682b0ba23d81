/*
 * changes.h - what changed for a person who reads, for whoever shows it to them.
 *
 * WHAT. Whatever changes what a person sees is noted in a row of its own, in the
 * same transaction: articles of their feeds, states, feeds, categories. A row
 * has ids, never contents. api/people/stream.c tells of them; nobody else reads
 * them. Only the newest CHANGES_KEEP of the server are kept: who was away for
 * longer loads anew.
 *
 *   kind         members
 *   items        feed_id, created, updated: ids of articles, up to CHANGES_IDS
 *                of them; more: true when there are others
 *   states       items: {id, feed_id, is_read, is_starred}, as they are now
 *   counts       many states changed at once, of feed_id or of all feeds
 *   feed         feed_id, change: added, removed, changed, or fetch when it
 *                works again or no longer; without feed_id: several
 *   categories   they were made, renamed or removed
 *
 * A row is a person's, or of all who have its feed: a fetch is one row, however
 * many read the feed.
 *
 * LIFE. What writes runs on the commit thread inside a transaction, behind what
 * locks feeds (other nodes wait for the number, and may hold one); whoever
 * posted it calls tail_changed() (event/tail.h) behind the commit.
 *
 * INVARIANTS
 *   1. Numbers grow in the order of commits: who saw n has seen all before it.
 *   2. Nobody is told of a feed that they don't have, but that it is gone.
 */
#pragma once

#include "base/base.h"

struct db;
struct items_plan;

/* Of a person's feed, or with feed 0 of all; user 0: for all who have it. */
int changes_feed(struct db *db, int64_t user, int64_t feed, const char *change,
    struct err *e) MUST_CHECK;
int changes_counts(
    struct db *db, int64_t user, int64_t feed, struct err *e) MUST_CHECK;
int changes_categories(struct db *db, int64_t user, struct err *e) MUST_CHECK;
int changes_items(
    struct db *db, const struct items_plan *p, struct err *e) MUST_CHECK;
/* ids: a JSON array of the tables' ids, so many. */
int changes_states(struct db *db, int64_t user, struct str ids, size_t n,
    struct err *e) MUST_CHECK;

/* Where one begins who has seen nothing, and who has seen what is gone. */
#define CHANGES_NOW  (-1)
#define CHANGES_LOST (-2)
/*
 * Appends the next of a person's as server-sent events, and moves *after; with
 * either of the above that is the message `ready`, or `reset`, which is also
 * what comes when *after is not there any more. Returns how many; CHANGES_PAGE:
 * there may be more.
 */
int changes_read(struct db *db, int64_t user, int64_t *after, struct buf *b,
    struct err *e) MUST_CHECK;
