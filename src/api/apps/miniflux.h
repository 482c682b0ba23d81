/*
 * miniflux.h - what the files of the Miniflux API share: its JSON.
 *
 * A member that we have no use for has one value here, which is shown; who asks
 * for another is refused with the reason (struct miniflux_fixed). Nothing is
 * taken and then forgotten.
 *
 * Ids are those of our tables; a file of an article has the article's times
 * FEED_ENCLOSURES_MAX, and its place. An icon has the id of its feed. A feed without
 * a category is in SYNC_NO_CATEGORY, called "All", since apps expect one.
 */
#pragma once

#include "api/apps/app.h"

/* The body as a JSON object. */
int miniflux_body(struct req *r, struct json **ret, struct err *e) MUST_CHECK;
/* Without blanks around; empty: there is none. */
struct str miniflux_text(const struct json *body, const char *name);
/* Absent or null leaves *ret. ERR_INVALID */
int miniflux_bool(const struct json *body, const char *name, int *ret,
    struct err *e) MUST_CHECK;

/* A member with one value, as JSON, and why. name NULL ends a table. */
struct miniflux_fixed {
	const char *name, *json, *why;
};
void miniflux_put_fixed(struct buf *b, const struct miniflux_fixed *table);
/* ERR_INVALID for the first that is to be something else. */
int miniflux_check_fixed(const struct json *body,
    const struct miniflux_fixed *table, struct err *e) MUST_CHECK;

/* Without its closing brace. */
void miniflux_open_category(struct buf *b, const char *name, int64_t user,
    const struct sync_category *c);
/* An element of a list, or the answer itself. */
void miniflux_feed(struct buf *b, int64_t user, const struct sync_feed *f);
/* "enclosures":[…] */
void miniflux_put_files(struct req *r, const struct sync_item *it);
/* The article with this id, which the person must have: ERR_ABSENT. */
int miniflux_item(struct req *r, struct db *db, int64_t item,
    struct sync_item *ret, struct err *e) MUST_CHECK;
/* Apps want a time where there is none, too. */
void miniflux_time(struct buf *b, const char *name, int64_t us);
/* 204. */
int miniflux_nothing(struct req *r);
