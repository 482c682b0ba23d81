/*
 * subs.h - feeds, and who reads them.
 *
 * A feed is everybody's: there is one row for its URL, whoever asks for it. A
 * subscription is one person's: their interval, their name for it, their
 * category, and what they did with its articles. Whoever ends one takes those
 * along and leaves the feed as it is (seed 002, 14.2, 14.4).
 *
 * LIFE. What changes something runs on the commit thread inside a transaction;
 * what reads, on any thread with a read connection. Texts are borrowed.
 *
 * INVARIANTS
 *   1. Every statement about what is a person's has user_id in it.
 *   2. feed.subscribers is how many there are.
 *   3. A person has at most READER_FEEDS_MAX.
 */
#ifndef READER_SUBS_H
#define READER_SUBS_H

#include "base/base.h"
#include "base/uuid.h"

struct arena;
struct buf;
struct db;

/* Feeds ------------------------------------------------------------------------ */

struct feed_new {
	struct str url, site_url, title; /* title is cut when it is long */
	struct str etag, last_modified;  /* .p NULL: none, as those below */
	struct str body_hash;
	struct str favicon_mime, favicon_data;
	int64_t next_fetch_us, last_fetch_us; /* last 0: never */
	bool private; /* also when its address holds a secret: secret_url.h */
};

/* *ret_id 0: there is none. */
int feeds_find_by_url(struct db *db, struct str url, int64_t *ret_id,
    struct uuid *ret_uid, struct err *e) MUST_CHECK;
/* The one that is there already, or a new one without subscribers. */
int feeds_add(struct db *db, const struct feed_new *f, int64_t now_us,
    int64_t *ret_id, struct uuid *ret_uid, struct err *e) MUST_CHECK;

/*
 * Makes a feed private, or not: nobody but its subscribers learns its address
 * and what is in it, as its events carry ids alone. `alone`: only while nobody
 * else reads it, since it takes the events from others; else ERR_CONFLICT with
 * the word NOT_ALONE.
 */
int feeds_mark(struct db *db, int64_t feed, bool private, bool alone,
    int64_t now_us, struct err *e) MUST_CHECK;

/* Subscriptions: changing -------------------------------------------------------- */

/*
 * ERR_CONFLICT with the word ALREADY_SUBSCRIBED or SUBSCRIPTION_LIMIT.
 * ret_uid may be NULL.
 */
int subscription_add(struct db *db, int64_t user, int64_t feed, int64_t now_us,
    struct uuid *ret_uid, struct err *e) MUST_CHECK;
/* To another feed, with its interval, name and category. Same errors, and
 * ERR_ABSENT. What was done with the old feed's articles goes. */
int subscription_move(struct db *db, int64_t user, int64_t from, int64_t to,
    int64_t now_us, struct err *e) MUST_CHECK;
/* By the feed's row. ERR_ABSENT. */
int subscription_drop(
    struct db *db, int64_t user, int64_t feed, struct err *e) MUST_CHECK;
/* ERR_INVALID at /fetch_interval_minutes, ERR_ABSENT. */
int subscription_interval(struct db *db, int64_t user, struct uuid uid,
    int64_t minutes, int64_t now_us, struct err *e) MUST_CHECK;
/* ERR_CONFLICT with the word NOT_STOPPED, ERR_ABSENT. */
int subscription_resume(struct db *db, int64_t user, struct uuid uid,
    int64_t now_us, struct err *e) MUST_CHECK;
struct subscription_patch {
	bool set_title, set_category;
	struct str title;     /* .p NULL: the feed's own */
	bool has_category;    /* false: none */
	struct uuid category; /* one of the person's: ERR_INVALID */
};
int subscription_patch(struct db *db, int64_t user, struct uuid uid,
    const struct subscription_patch *p, int64_t now_us,
    struct err *e) MUST_CHECK;

/* Finding: ERR_ABSENT when the person has none such. */
int subscription_find(struct db *db, int64_t user, struct uuid uid,
    int64_t *ret_feed, struct err *e) MUST_CHECK;
int subscription_feed(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t *ret_feed, struct err *e) MUST_CHECK;

/* Showing, as JSON of seed 002 ----------------------------------------------------- */

/* One, or with uid NULL an array of all. ERR_ABSENT. */
int subscription_show(struct db *db, int64_t user, struct uuid user_uid,
    const struct uuid *uid, struct buf *b, struct err *e) MUST_CHECK;
/* A feed that the person has. ERR_ABSENT. */
int feeds_show(struct db *db, int64_t user, struct uuid feed_uid, struct buf *b,
    struct err *e) MUST_CHECK;
/* Appends its picture; the media type is the arena's. ERR_ABSENT: none. */
int feeds_icon(struct db *db, int64_t user, struct uuid feed_uid,
    struct arena *a, struct str *ret_mime, struct buf *b,
    struct err *e) MUST_CHECK;
/* {"fetches":[…],"next_cursor","has_more"}: newest first, below `before`. */
int feeds_fetches(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t before, struct buf *b, struct err *e) MUST_CHECK;

/* Categories ------------------------------------------------------------------------- */

/* One, or all. ERR_ABSENT. */
int category_show(struct db *db, int64_t user, const struct uuid *uid,
    struct buf *b, struct err *e) MUST_CHECK;
/* ERR_CONFLICT when the person has one of that name; *ret_uid is then its;
 * Also past READER_CATEGORIES_MAX. */
int category_add(struct db *db, int64_t user, struct str title, int64_t now_us,
    struct uuid *ret_uid, struct err *e) MUST_CHECK;
int category_rename(struct db *db, int64_t user, struct uuid uid,
    struct str title, int64_t now_us, struct err *e) MUST_CHECK;
/* Its row. ERR_ABSENT. */
int category_find(struct db *db, int64_t user, struct uuid uid, int64_t *ret,
    struct err *e) MUST_CHECK;
/* Its feeds stay, without a category. ERR_ABSENT. */
int category_del(
    struct db *db, int64_t user, struct uuid uid, struct err *e) MUST_CHECK;

#endif
