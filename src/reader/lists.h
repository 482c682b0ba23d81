/*
 * lists.h - articles as one person sees them, and what they do with them.
 *
 * A page has READER_PAGE articles, newest first or oldest first, and says where the next one
 * begins. What comes in meanwhile moves nothing: the place is a date and an id,
 * not a number of rows. Searches go by id, newest arrival first.
 *
 * `as_of` beside a page says what the store had then. "Mark all read" takes it
 * back, so that what came in since stays unread.
 *
 * INVARIANTS
 *   1. No article is shown or marked but of a feed that the person has.
 *   2. A state is a row when it was ever set; no row is unread, no star.
 */
#pragma once

#include "reader/item_cursor.h"

struct db;

enum list_filter { LIST_ALL, LIST_UNREAD, LIST_STARRED };

struct list_query {
	int64_t user;
	int64_t feed;     /* a row that the person has; 0: all */
	int64_t category; /* one of theirs; 0: all */
	enum list_filter filter;
	bool unique; /* what several feeds have, once */
	bool oldest_first;
	struct str search; /* as it was typed: doc/terms.h; blank: none */
	bool has_place;
	struct item_place place;
};

/* By what its pages go. */
enum item_order list_order(const struct list_query *q);
/* {"items":[…],"next_cursor","has_more","as_of"}; the arena is for a while. */
int list_show(struct db *db, const struct list_query *q, struct arena *a,
    struct buf *b, struct err *e) MUST_CHECK;
/* One with all that there is to read. ERR_ABSENT. */
int list_item(struct db *db, int64_t user, struct uuid uid, struct buf *b,
    struct err *e) MUST_CHECK;

/* What one person does with an article. */
struct list_state {
	int64_t user;
	struct uuid user_uid, uid; /* uid: the article's */
	bool set_read, set_starred, is_read, is_starred;
};
/* In a transaction; {"user_id","item_id",…} as it then is. ERR_ABSENT. */
int list_state(struct db *db, const struct list_state *s, int64_t now_us,
    struct buf *b, struct err *e) MUST_CHECK;

/* The same with many articles, READER_STATES_MAX at most; s->uid is none. What
 * is no article of theirs stays: {"marked","absent":[ids]}. */
int list_states(struct db *db, const struct list_state *s,
    const struct uuid *uids, size_t n, int64_t now_us, struct buf *b,
    struct err *e) MUST_CHECK;

struct list_read {
	int64_t user;
	int64_t feed;      /* 0: all of … */
	int64_t category;  /* … this one, as sync.h has them; 0: all */
	int64_t upto;      /* id of an article; INT64_MAX: all that there is */
	int64_t before_us; /* what came up to then; INT64_MAX: the same */
	int64_t now_us;
};
/* A step, in a transaction: how many are read now. READ_STEP: it may not have
 * been the last. */
int list_read_step(
    struct db *db, const struct list_read *q, struct err *e) MUST_CHECK;
