/*
 * miniflux.h - what the files of the Miniflux API share: its JSON.
 *
 * Ids are those of our tables. An icon has the id of its feed. A feed without
 * a category is in SYNC_NO_CATEGORY, called "All", since apps expect one.
 */
#pragma once

#include "api/apps/app.h"

/* The body as a JSON object. */
int miniflux_body(struct req *r, struct json **ret, struct err *e) MUST_CHECK;
/* An element of a list, or the answer itself. */
void miniflux_feed(struct buf *b, int64_t user, const struct sync_feed *f);
/* Apps want a time where there is none, too. */
void miniflux_time(struct buf *b, const char *name, int64_t us);
/* 204. */
int miniflux_nothing(struct req *r);
