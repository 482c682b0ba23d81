/*
 * feeds.h - feeds, which are everybody's: there is one row for a URL, whoever
 * asks for it; but for those that are a person's own (feed_login.h). Who reads
 * one is in subscription.h.
 *
 * LIFE. What changes something runs on the commit thread inside a transaction;
 * what reads, on any thread with a read connection. Texts are borrowed.
 */
#pragma once

#include "base/base.h"

struct db;

struct feed_new {
	struct str url, site_url, title; /* title is cut when it is long */
	struct str address; /* url is its key: feed_login.h; .p NULL: not */
	struct str favicon_mime, favicon_data; /* .p NULL: none */
	int64_t next_fetch_us;
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
 * the word NOT_ALONE. What is asked for with a login (feed_login.h) stays
 * private: the same error.
 */
int feeds_mark(struct db *db, int64_t feed, bool private, bool alone,
    int64_t now_us, struct err *e) MUST_CHECK;

/* As JSON of seed 002: a feed that the person has. ERR_ABSENT. */
int feeds_show(struct db *db, int64_t user, struct uuid feed_uid, struct buf *b,
    struct err *e) MUST_CHECK;
/* {"fetches":[…],"next_cursor","has_more"}: newest first, below `before`. */
int feeds_fetches(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t before, struct buf *b, struct err *e) MUST_CHECK;
/* Appends its picture; the media type is the arena's. ERR_ABSENT: none. */
int feeds_icon(struct db *db, int64_t user, struct uuid feed_uid,
    struct arena *a, struct str *ret_mime, struct buf *b,
    struct err *e) MUST_CHECK;

/* Two members that feeds and subscriptions have. A feed that backs off is
 * active in the store, and `error` here. */
void feeds_put_status(
    struct buf *b, const char *name, struct str status, int64_t errors);
void feeds_put_icon(struct buf *b, struct str feed_uid);
/* What subscriptions and categories count: all, unread, starred. */
void feeds_put_counts(
    struct buf *b, int64_t items, int64_t read, int64_t starred);
