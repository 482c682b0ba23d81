/*
 * subscription.h - who reads which feed.
 *
 * A feed is everybody's (feeds.h). A subscription is one person's: their
 * interval, their name for it, their category, and what they did with its
 * articles. Whoever ends one takes those along and leaves the feed as it is
 * (seed 002, 14.2, 14.4).
 *
 * LIFE. What changes something runs on the commit thread inside a transaction;
 * what reads, on any thread with a read connection. Texts are borrowed.
 *
 * INVARIANTS
 *   1. Every statement about what is a person's has user_id in it.
 *   2. feed.subscribers is how many there are.
 *   3. Nobody gets more than reader.feeds.max.
 */
#pragma once

#include "base/base.h"

struct db;

/*
 * most: what the person may have then. ERR_CONFLICT with the word
 * ALREADY_SUBSCRIBED or SUBSCRIPTION_LIMIT. ret_uid may be NULL. The change is
 * the caller's to note, last (changes.h): there may be many at once.
 */
int subscription_add(struct db *db, int64_t user, int64_t feed, int64_t most,
    int64_t now_us, struct uuid *ret_uid, struct err *e) MUST_CHECK;
/* To another feed, with its interval, name and category. What the person read
 * or starred goes along where the other feed has the article now, by its id or
 * else its link; the rest of it goes. Same errors, and ERR_ABSENT. */
int subscription_move(struct db *db, int64_t user, int64_t from, int64_t to,
    int64_t now_us, struct err *e) MUST_CHECK;
/* By the feed's row. ERR_ABSENT. */
int subscription_drop(
    struct db *db, int64_t user, int64_t feed, struct err *e) MUST_CHECK;
/* ERR_INVALID at /fetch_interval_minutes, ERR_ABSENT. */
int subscription_interval(struct db *db, int64_t user, struct uuid uid,
    int64_t minutes, int64_t now_us, struct err *e) MUST_CHECK;
/* To be fetched now, when it is stopped or backs off; else ERR_CONFLICT with
 * the word NOT_STOPPED. ERR_ABSENT. */
int subscription_resume(struct db *db, int64_t user, struct uuid uid,
    int64_t now_us, struct err *e) MUST_CHECK;
struct subscription_patch {
	bool set_title, set_category;
	struct str title;     /* .p NULL: the feed's own */
	bool has_category;    /* false: none */
	struct uuid category; /* one of the person's: ERR_INVALID */
	bool quiet;           /* the change is the caller's to note */
};
int subscription_patch(struct db *db, int64_t user, struct uuid uid,
    const struct subscription_patch *p, int64_t now_us,
    struct err *e) MUST_CHECK;

/* The feed's row: ERR_ABSENT when the person has none such. */
int subscription_find(struct db *db, int64_t user, struct uuid uid,
    int64_t *ret_feed, struct err *e) MUST_CHECK;
int subscription_feed(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t *ret_feed, struct err *e) MUST_CHECK;

/* As JSON of seed 002: one, or with uid NULL an array of all. ERR_ABSENT. */
int subscription_show(struct db *db, int64_t user, struct uuid user_uid,
    const struct uuid *uid, struct buf *b, struct err *e) MUST_CHECK;
