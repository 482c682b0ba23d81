/*
 * sync.h - what apps that sync ask for, whatever protocol they speak.
 *
 * Miniflux, Google Reader and Fever differ in words, pages and the spelling of
 * an id; what they ask is the same: the feeds with their counters, ids of
 * articles by a filter, articles by their ids, and a change of state for many
 * at once. That is here; api/apps/miniflux.c, api/apps/greader.c and api/apps/fever.c are
 * spelling. Ids are those of the tables: apps want numbers.
 *
 * LIFE. What reads runs on any thread with a read connection, what changes on
 * the commit thread inside a transaction: struct sync has either. Results are
 * its arena's.
 *
 * INVARIANTS
 *   1. Every statement has the person in it: nobody sees or changes what
 *      belongs to a feed that they don't have.
 *   2. A change of many articles is one statement. (All of them are marked
 *      read by lists.h.)
 *   3. A page has at most SYNC_IDS_MAX ids, a call takes at most as many.
 */
#pragma once

#include "reader/item_cursor.h"
#include "reader/limits.h"

struct db;

/* The category of feeds that have none: an app wants one for each. */
#define SYNC_NO_CATEGORY 2147483647

/* Who asks, of which connection. */
struct sync {
	struct db *db;
	int64_t user;
	struct arena *arena;
};

struct sync_feed {
	int64_t id;
	struct uuid uid, sub;
	struct str url, site, title;
	int64_t category; /* SYNC_NO_CATEGORY: none, and category_title empty */
	struct str category_title;
	bool category_hidden;
	bool stopped, icon;
	bool hidden, paused, uncached; /* struct sync_options */
	bool own, login;               /* feed_login.h */
	int64_t errors, unread, items;
	struct str error;
	int64_t last_fetch_us, next_fetch_us, newest_us, created_us; /* 0: no */
};

struct sync_feeds {
	struct sync_feed *v;
	size_t n;
};

struct sync_category {
	int64_t id;
	struct uuid uid;
	struct str title;
	bool hidden;
};

struct sync_categories {
	struct sync_category *v;
	size_t n;
};

enum sync_order { SYNC_ID_UP, SYNC_ID_DOWN, SYNC_DATE_UP, SYNC_DATE_DOWN };

/* 0 asks for all, but for read and starred, where -1 does. A search goes by
 * arrival, also where the order names dates. */
struct sync_filter {
	int64_t feed, category;
	int64_t after_id, before_id; /* beyond these */
	int64_t since_us, until_us;  /* published; until: before */
	int64_t crawled_since_us, crawled_until_us;  /* when we got it */
	int64_t changed_after_us, changed_before_us; /* it, or its state */
	int read, starred;
	bool visible;       /* nothing that is hidden */
	int64_t flushed_us; /* nor what was read until then and has no star */
	bool unique;        /* what several feeds have, once */
	struct str search;  /* as it was typed: doc/terms.h; blank: none */
	enum sync_order order;
	bool has_place; /* behind it, in this order */
	struct item_place place;
	size_t most, skip; /* most <= SYNC_IDS_MAX */
};
#define SYNC_ALL ((struct sync_filter){.read = -1, .starred = -1})

struct sync_id {
	int64_t id, created_us;
};

struct sync_ids {
	struct sync_id *v;
	size_t n;
};

struct sync_item {
	int64_t id, feed;
	struct uuid uid;
	int64_t published_us, created_us, updated_us, changed_us;
	bool read, starred;
	struct str link, title, author; /* empty: none */
	struct str categories;          /* a JSON array, or empty */
	struct str enclosures;          /* the same, of {url, type, length} */
	struct str played;              /* the same, of seconds of each */
	struct str html;                /* content, or the summary: clean */
};

struct sync_items {
	struct sync_item *v;
	size_t n;
};

/* Not counted: unread and newest_us are not looked for. */
int sync_feeds(const struct sync *s, bool counted, struct sync_feeds *ret,
    struct err *e) MUST_CHECK;
/* By its id: NULL or ERR_ABSENT when the person has no such feed. */
const struct sync_feed *sync_feeds_find(
    const struct sync_feeds *feeds, int64_t id);
int sync_feed(const struct sync *s, int64_t id, struct sync_feed *ret,
    struct err *e) MUST_CHECK;
int sync_categories(const struct sync *s, struct sync_categories *ret,
    struct err *e) MUST_CHECK;
/* ERR_ABSENT */
int sync_category(const struct sync *s, int64_t id, struct sync_category *ret,
    struct err *e) MUST_CHECK;

int sync_ids(const struct sync *s, const struct sync_filter *f,
    struct sync_ids *ret, struct err *e) MUST_CHECK;
/* These and how many there are, whatever most and skip say. Of feeds, what is
 * read and what is starred that is exact; where more is asked for it is so many
 * only up to SYNC_COUNT_MORE behind the page: then more than that. */
int sync_count(const struct sync *s, const struct sync_filter *f,
    struct sync_ids *ret, int64_t *ret_total, struct err *e) MUST_CHECK;
/* A JSON array of them. ERR_LIMIT */
int sync_ids_json(
    struct buf *b, const struct sync_ids *ids, struct err *e) MUST_CHECK;
/* In the order of the ids; those that the person can't see are left out. */
int sync_items(const struct sync *s, const struct sync_ids *ids,
    struct sync_items *ret, struct err *e) MUST_CHECK;
/* sync_ids() and sync_items(). */
int sync_page(const struct sync *s, const struct sync_filter *f,
    struct sync_items *ret, struct err *e) MUST_CHECK;
/* Mime and data are empty when it has none; ERR_ABSENT without such a feed. */
int sync_icon(const struct sync *s, int64_t feed, struct str *ret_mime,
    struct str *ret_data, struct err *e) MUST_CHECK;

/* Changing: on the commit thread. What is not the person's stays as it is. */
enum sync_state { SYNC_READ, SYNC_STARRED };
int sync_set(const struct sync *s, const struct sync_ids *ids,
    enum sync_state state, bool value, int64_t now_us,
    struct err *e) MUST_CHECK;
/* ERR_ABSENT */
int sync_turn_star(const struct sync *s, int64_t item, int64_t now_us,
    struct err *e) MUST_CHECK;
/* How far its files were played: sync_item.played. ERR_ABSENT */
int sync_play(const struct sync *s, int64_t item, struct str played,
    int64_t now_us, struct err *e) MUST_CHECK;
/* What a person wants of a feed; what is negative stays as it is. */
struct sync_options {
	int hidden;   /* left out where all feeds are shown at once */
	int paused;   /* not fetched, when all who have it want so */
	int uncached; /* fetched without validators */
};
#define SYNC_OPTIONS_NONE ((struct sync_options){-1, -1, -1})
/* ERR_ABSENT */
int sync_set_options(const struct sync *s, int64_t feed,
    const struct sync_options *o, int64_t now_us, struct err *e) MUST_CHECK;
int sync_hide_category(const struct sync *s, int64_t category, bool hidden,
    int64_t now_us, struct err *e) MUST_CHECK;
/* Empties the history: sync_filter.flushed_us; 0 when it never was. */
int sync_flush(const struct sync *s, int64_t now_us, struct err *e) MUST_CHECK;
int sync_flushed(const struct sync *s, int64_t *ret, struct err *e) MUST_CHECK;
/* To be fetched now, unless it was within a minute; feed 0: all. How many
 * became due by it. */
int sync_fetch_soon(const struct sync *s, int64_t feed, int64_t now_us,
    struct err *e) MUST_CHECK;
/* The same for one that the person has, also when it is stopped, or was fetched
 * just now and failed. */
int sync_fetch_now(const struct sync *s, int64_t feed, int64_t now_us,
    struct err *e) MUST_CHECK;
