/*
 * limits.h - the bounds of feeds that people read: fetching, articles, lists.
 */
#pragma once

#include "base/base.h"

/* Fetching (reader/fetch/verdict.h): an interval, a back-off and what a server asks
 * for lie within these (seed 002); bodies in a row that are no feed. */
#define FETCH_LEAST_MIN        30
#define FETCH_MOST_MIN         720
#define FETCH_PARSE_ERRORS_MAX 10
/* A fetcher's feeds are taken over when it was not heard of for so long. What
 * it has claimed and not begun; answers that are read and written at once, as
 * each may need FEED_ARENA_MAX; results that one transaction writes. */
#define FETCH_LEASE_MS         300000
#define FETCH_QUEUE_MAX        256
#define FETCH_ARENA_MAX        (64 * KIB) /* what is known of one, but its body */
#define FETCH_VALIDATOR_MAX    512 /* bytes of an ETag or a date that are kept */
#define FETCH_STORING_MAX      2
#define FETCH_BATCH_MAX        256
#define FETCH_CONFLICTS_MAX    5 /* plans made anew before it waits for a turn */
/* Adding a feed: how many at once, and how many wait (then 503); how long one
 * may take in all and for its icon; what is tried of what a page names. */
#define REGISTER_MAX           8
#define REGISTER_QUEUE_MAX     64
#define REGISTER_MS            25000
#define REGISTER_ICON_MS       5000
#define REGISTER_FEEDS_MAX     4
#define REGISTER_ICONS_MAX     3
#define FAVICON_MAX            (256 * KIB)
/* WebSub (reader/websub.h): hubs asked at once; the lease we ask for and those
 * that we believe; times that we try to leave; a denied feed is asked for again
 * then; pushes that wait or are written (then 503); calls of one network in a
 * minute; lines of the log about wrong signatures in a second. */
#define HUB_ASKS_MAX           16
#define HUB_LEASE_S            864000
#define HUB_LEASE_LEAST_S      300
#define HUB_LEASE_MOST_S       2592000
#define HUB_LEAVES_MAX         4
#define HUB_DENIED_MIN         1440
#define HUB_PUSHES_MAX         32
#define HUB_CALLS_PER_MINUTE   1200
#define HUB_LINES_PER_S        5
/* Counts of Hatena bookmarks (seed 002, 10): URLs of one call, and bytes of
 * them as a query; calls of a day; an answer. */
#define HATEBU_URLS_MAX        50
#define HATEBU_QUERY_MAX       (16 * KIB)
#define HATEBU_DAY_CALLS       14400
#define HATEBU_ANSWER_MAX      (256 * KIB)
/* Articles in the store (reader/items.h): changes of one plan, which are
 * events of one commit; and bytes of it, with room below STORE_ARRAYS_MAX. */
#define ITEMS_PLAN_MAX         1000
#define ITEMS_PLAN_BYTES       (6 * MIB)
/* Columns of seed 002, in characters. Longer ids are kept as their hash: cut,
 * two of them could be one. In bytes, for PostgreSQL's index. */
#define ITEM_GUID_MAX          2000
#define ITEM_TITLE_MAX         1000
#define ITEM_AUTHOR_MAX        500
#define ITEM_EXCERPT_MAX       300 /* ours: some lines of a list */
#define FEED_TITLE_MAX         500
#define FEED_LOGIN_MAX         255 /* bytes of a user name, and of a password */
/* A person's: seed 002, 2.8 and 8.5. Feeds: the most that reader.feeds.max can
 * be. Minutes, in steps of the least. */
#define READER_FEEDS_MAX       1000
#define FETCH_INTERVAL_MIN     30
#define FETCH_INTERVAL_MAX     720
#define READER_CATEGORIES_MAX  200
#define READER_CATEGORY_NAME   200  /* characters */
#define READER_PAGE            50   /* articles: seed 002, 4.3 */
#define READER_FETCHES         50   /* of a feed's history */
#define READER_STATES_MAX      1000 /* articles whose state one call sets */
#define READ_STEP              2000 /* articles marked read, a transaction */
#define READER_SEARCH_MAX      500  /* bytes that are typed */
#define CLEAN_STEP             200 /* articles, each with its words and states */
#define RETERM_STEP            20  /* articles whose words are cut anew */
#define FEED_TOMBSTONES_MAX    50000 /* of a feed that are looked at */
/* What changed for people (reader/changes.h): so many rows are kept, of all
 * people; ids of one row; rows of one reading. */
#define CHANGES_KEEP           10000
#define CHANGES_IDS            100
#define CHANGES_PAGE           200
#define SYNC_IDS_MAX           10000 /* ids of one page, or changed by one call */
#define SYNC_IDS_JSON          (22 * SYNC_IDS_MAX + 2)
#define SYNC_COUNT_MORE        500   /* articles counted beyond a page */
#define SYNC_READ_FEW          2000  /* read articles that are sorted at once */
#define SYNC_CHANGED_FEW       10000 /* changed ones */
#define SYNC_DEEP              20    /* feeds: sql/sync.sql */
#define SYNC_PAGE_MAX          1000  /* whole articles of one page */
#define SYNC_IDS_ALL           200000 /* ids of an answer that must have all */
#define SYNC_PAGE_BYTES        (10 * MIB) /* of these, in the request's arena */
